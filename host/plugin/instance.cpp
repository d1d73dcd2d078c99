#include "host/plugin/instance.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

std::string instance_name(const Plugin& plugin) {
  return std::string(kind_name(plugin.kind())) + "." + std::string(plugin.name());
}

}  // namespace

PluginInstance::PluginInstance(std::shared_ptr<const Plugin> plugin, const HostServices& services,
                               PluginOptions options)
    : plugin_(std::move(plugin)), context_(services, instance_name(*plugin_), std::move(options)) {}

std::unique_ptr<PluginInstance> PluginInstance::create(std::shared_ptr<const Plugin> plugin,
                                                       const HostServices& services,
                                                       PluginOptions options, const smg_sink* sink,
                                                       std::string& error) {
  std::unique_ptr<PluginInstance> instance(
      new PluginInstance(std::move(plugin), services, std::move(options)));
  std::array<char, 1024> room{};
  smg_error report{room.data(), room.size(), 0};
  std::string detail;
  smg_status status = SMG_E_INTERNAL;
  try {
    status = instance->create_self(sink, &report);
    detail = valid_utf8({room.data(), std::min<std::size_t>(room.size(), report.size)});
  } catch (const std::exception& exception) {
    detail = std::string("it threw an exception, which no plugin may: ") + exception.what();
  } catch (...) {
    detail = "it threw something, which no plugin may";
  }
  if (status != SMG_OK) {
    error = instance->context_.instance() + " cannot be created: " +
            (detail.empty() ? "status " + std::to_string(status) + " without a reason" : detail);
    return nullptr;
  }
  instance->created_ = true;
  return instance;
}

PluginInstance::~PluginInstance() {
  context_.unsubscribe_all();
  if (!created_) return;
  guarded(&faults(), "destroy", [this] {
    switch (plugin_->kind()) {
      case SMG_KIND_POLICY:
        return policy().destroy(self_);
      case SMG_KIND_TRANSPORT:
        return transport().destroy(self_);
      default:
        return monitor().destroy(self_);
    }
  });
}

smg_status PluginInstance::create_self(const smg_sink* sink, smg_error* error) {
  switch (plugin_->kind()) {
    case SMG_KIND_POLICY:
      return policy().create(host(), &self_, error);
    case SMG_KIND_TRANSPORT:
      return transport().create(host(), sink, &self_, error);
    default:
      return monitor().create(host(), &self_, error);
  }
}

}  // namespace smg
