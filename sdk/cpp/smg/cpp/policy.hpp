// A routing policy as a class with one method. smg/policy.h says what it may do and on which
// thread.
//
//   class Nearest {
//    public:
//     explicit Nearest(const smg::Host& host);     // reads options; throws smg::Error
//     std::optional<uint32_t> select(const smg_policy_request& request, const smg_pool& pool);
//   };
//   SMG_EXPORT_PLUGINS(smg::policy<Nearest>("nearest", "1.0", "Example Ltd", "the nearest worker"))
//
// select() answers an index, or nothing to decline; what it throws counts as a fault. Further
// methods are called when the class has them: pool_changed(const smg_pool* before, const smg_pool*
// after), dispatched(request, worker), completed(worker, bool success); and `static constexpr
// uint32_t needs` (SMG_NEEDS_*).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "smg/cpp/error.hpp"
#include "smg/cpp/host.hpp"
#include "smg/cpp/plugin.hpp"
#include "smg/policy.h"

namespace smg {

namespace detail {

template <class Impl>
constexpr smg_policy_api policy_api() {
  smg_policy_api api{};
  api.struct_size = sizeof api;
  if constexpr (requires { Impl::needs; }) api.needs = Impl::needs;
  api.create = [](const smg_host* host, void** self, smg_error* error) -> smg_status {
    return guard(error, [&] {
      *self = new Impl(Host(host));
      return SMG_OK;
    });
  };
  api.destroy = [](void* self) { delete static_cast<Impl*>(self); };
  api.select = [](void* self, const smg_policy_request* request, const smg_pool* pool,
                  std::uint32_t* index) -> smg_status {
    return guard(nullptr, [&]() -> smg_status {
      const std::optional<std::uint32_t> choice = static_cast<Impl*>(self)->select(*request, *pool);
      if (!choice) return SMG_NO_CHOICE;
      *index = *choice;
      return SMG_OK;
    });
  };
  if constexpr (requires(Impl & impl, const smg_pool* pool) { impl.pool_changed(pool, pool); }) {
    api.pool_changed = [](void* self, const smg_pool* before, const smg_pool* after) {
      guard(nullptr, [&] {
        static_cast<Impl*>(self)->pool_changed(before, after);
        return SMG_OK;
      });
    };
  }
  if constexpr (requires(Impl & impl, const smg_policy_request& request, const smg_worker& worker) {
                  impl.dispatched(request, worker);
                }) {
    api.dispatched = [](void* self, const smg_policy_request* request, const smg_worker* worker) {
      guard(nullptr, [&] {
        static_cast<Impl*>(self)->dispatched(*request, *worker);
        return SMG_OK;
      });
    };
  }
  if constexpr (requires(Impl & impl, const smg_worker& worker) { impl.completed(worker, true); }) {
    api.completed = [](void* self, const smg_worker* worker, std::uint32_t success) {
      guard(nullptr, [&] {
        static_cast<Impl*>(self)->completed(*worker, success != 0);
        return SMG_OK;
      });
    };
  }
  return api;
}

template <class Impl>
inline constexpr smg_policy_api kPolicyApi = policy_api<Impl>();

}  // namespace detail

template <class Impl>
constexpr smg_plugin policy(std::string_view name, std::string_view version,
                            std::string_view vendor, std::string_view summary,
                            std::span<const smg_option> options = {}) {
  return detail::describe(SMG_KIND_POLICY, name, version, vendor, summary, options,
                          &detail::kPolicyApi<Impl>);
}

}  // namespace smg
