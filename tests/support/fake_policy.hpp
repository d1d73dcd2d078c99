// A policy out of a real library, with an instance of it made by a fake host.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fake_host.hpp"
#include "smg/plugin.h"
#include "smg/policy.h"

namespace smg::test {

// The library stays open for the life of the object. Throws if it is none, or create() fails.
class LoadedPolicy {
 public:
  LoadedPolicy(const std::string& path, const FakeHost& host) {
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(library_, "smg_plugin_entry"));
    if (entry == nullptr) throw std::runtime_error(path + " exports no smg_plugin_entry");
    plugin_ = entry()->plugins;
    api_ = static_cast<const smg_policy_api*>(plugin_->api);
    char room[256];
    smg_error error{room, sizeof room, 0};
    if (api_->create(host.raw(), &self_, &error) != SMG_OK) {
      throw std::runtime_error(std::string(error.text, error.size));
    }
  }
  ~LoadedPolicy() {
    if (self_ != nullptr) api_->destroy(self_);
    if (library_ != nullptr) dlclose(library_);
  }
  LoadedPolicy(const LoadedPolicy&) = delete;
  LoadedPolicy& operator=(const LoadedPolicy&) = delete;

  const smg_plugin& plugin() const { return *plugin_; }
  // Membership, as the host tells it; either may be nullptr.
  void pool_changed(const smg_pool* before, const smg_pool* after) const {
    if (api_->pool_changed != nullptr) api_->pool_changed(self_, before, after);
  }
  const smg_policy_api& api() const { return *api_; }
  void* self() const { return self_; }

  // The choice, or nullopt if the policy declines. Throws on a fault.
  std::optional<std::uint32_t> select(const smg_pool* pool, smg_policy_request request) const {
    request.struct_size = sizeof request;
    std::uint32_t index = 0xffffffff;
    const smg_status status = api_->select(self_, &request, pool, &index);
    if (status == SMG_NO_CHOICE) return std::nullopt;
    if (status != SMG_OK) throw std::runtime_error("select: status " + std::to_string(status));
    return index;
  }
  std::optional<std::uint32_t> select(const smg_pool* pool, std::uint64_t random = 0) const {
    smg_policy_request request{};
    request.random = random;
    return select(pool, request);
  }

 private:
  void* library_ = nullptr;
  const smg_plugin* plugin_ = nullptr;
  const smg_policy_api* api_ = nullptr;
  void* self_ = nullptr;
};

}  // namespace smg::test
