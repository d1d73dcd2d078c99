#include "host/plugin_instances.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "host/base/views.hpp"
#include "host/fleet/stream_table.hpp"

namespace smg {

struct PluginInstances::Farewell : smg_task {
  PluginInstances* owner;
  std::unique_ptr<PluginInstance> instance;

  static void say(smg_task* task) {
    const std::unique_ptr<Farewell> self(static_cast<Farewell*>(task));
    PluginInstances& owner = *self->owner;
    self->instance.reset();
    owner.alive_.fetch_sub(1, std::memory_order_release);
  }
};

PluginInstances::PluginInstances(Loop& control, const PluginRegistry& plugins, Families& families,
                                 Bus& bus, std::function<HostServices()> services, Options options)
    : control_(control),
      plugins_(plugins),
      families_(families),
      bus_(bus),
      services_(std::move(services)),
      options_(std::move(options)) {}

std::shared_ptr<PluginInstance> PluginInstances::make(const std::shared_ptr<const Plugin>& plugin,
                                                      const OptionTables& tables,
                                                      const smg_sink* sink, std::string& error) {
  const auto found = tables.find({plugin->kind(), std::string(plugin->name())});
  // The task of the end is there from the beginning: it must not fail for want of memory.
  auto farewell = std::make_unique<Farewell>();
  auto instance = PluginInstance::create(
      plugin, services_(), found == tables.end() ? PluginOptions{} : found->second, sink, error);
  if (instance == nullptr) return nullptr;
  farewell->run = Farewell::say;
  farewell->owner = this;
  alive_.fetch_add(1, std::memory_order_relaxed);
  return {instance.release(), [last = farewell.release()](PluginInstance* gone) {
            last->instance.reset(gone);
            last->owner->control_.post(last);
          }};
}

PolicyPtr PluginInstances::make_policy(const std::shared_ptr<const Plugin>& plugin,
                                       PolicyChoice::Options which, const Options& options,
                                       std::string& error) {
  const bool configured = which == PolicyChoice::Options::configured;
  auto instance = make(plugin, configured ? options.configured : options.by_label, nullptr, error);
  if (instance == nullptr) return nullptr;
  auto ref = std::make_shared<PolicyRef>();
  ref->api = &instance->policy();
  ref->self = instance->self();
  ref->name = plugin->name();
  ref->needs = instance->policy().needs;
  ref->faults = &instance->faults();
  ref->instance = std::move(instance);
  record(ref, *ref->instance);
  return ref;
}

TransportPtr PluginInstances::make_transport(const std::shared_ptr<const Plugin>& plugin,
                                             const Options& options, std::string& error) {
  auto instance = make(plugin, options.configured, &StreamTable::sink(), error);
  if (instance == nullptr) return nullptr;
  auto ref = std::make_shared<TransportRef>();
  ref->api = &instance->transport();
  ref->self = instance->self();
  ref->name = plugin->name();
  ref->faults = &instance->faults();
  ref->instance = std::move(instance);
  record(ref, *ref->instance);
  return ref;
}

MonitorPtr PluginInstances::make_monitor(const std::shared_ptr<const Plugin>& plugin,
                                         const Options& options, std::string& error) {
  auto instance = make(plugin, options.configured, nullptr, error);
  if (instance == nullptr) return nullptr;
  auto ref = std::make_shared<MonitorRef>();
  ref->api = &instance->monitor();
  ref->self = instance->self();
  ref->name = plugin->name();
  ref->faults = &instance->faults();
  ref->instance = std::move(instance);
  record(ref, *ref->instance);
  return ref;
}

TransportPtr PluginInstances::transport_for(const WorkerSpec& spec, std::string& error) {
  const auto offers = [](const smg_view* list, std::uint32_t count, std::string_view wanted) {
    return std::any_of(list, list + count, [&](smg_view item) { return text(item) == wanted; });
  };
  for (const auto& name : plugins_.names(SMG_KIND_TRANSPORT)) {
    const auto plugin = plugins_.find(SMG_KIND_TRANSPORT, name);
    const smg_transport_api& api = plugin->transport();
    if (!offers(api.schemes, api.scheme_count, spec.url.scheme)) continue;
    if (api.runtime_count > 0 && !offers(api.runtimes, api.runtime_count, spec.runtime)) continue;
    if (auto present = transport(name)) return present;
    auto made = make_transport(plugin, options_, error);
    if (made == nullptr) return nullptr;
    announce(name, "running");
    transports_[name] = made;
    return made;
  }
  error = "worker " + spec.url.text + ": no plugin offers a transport for the scheme '" +
          spec.url.scheme + "'";
  return nullptr;
}

TransportPtr PluginInstances::transport(std::string_view name) const {
  const auto found = transports_.find(name);
  return found == transports_.end() ? nullptr : found->second;
}

void PluginInstances::replace_transport(const TransportPtr& after) {
  TransportPtr& place = transports_[after->name];
  if (place != nullptr) superseded_.push_back(place);
  place = after;
}

void PluginInstances::settle(Registry& registry) {
  for (const auto& old : superseded_) {
    const TransportPtr before = old.lock();
    if (before == nullptr) continue;
    std::string error;
    if (!registry.move_workers(*before, transport(before->name), error)) {
      spdlog::warn("{}; the version of the transport before goes on to serve it", error);
    }
  }
  std::erase_if(superseded_, [](const auto& old) { return old.expired(); });
}

std::vector<PluginInstances::Record>& PluginInstances::records() {
  std::erase_if(records_, [](const Record& record) { return record.ref.expired(); });
  return records_;
}

void PluginInstances::record(const std::shared_ptr<const void>& ref, PluginInstance& instance) {
  const Plugin& plugin = instance.plugin();
  records().push_back({.ref = ref,
                       .kind = plugin.kind(),
                       .name = std::string(plugin.name()),
                       .generation = plugin.library->generation(),
                       .faults = &instance.faults()});
}

void PluginInstances::supersede(const std::shared_ptr<const void>& ref) {
  for (auto& record : records_) {
    if (record.ref.lock() == ref) record.superseded = control_.now();
  }
}

void PluginInstances::announce(std::string_view plugin, std::string_view state) {
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_PLUGIN_STATE;
  event.subject = view(plugin);
  event.text = view(state);
  bus_.publish(event.event);
}

}  // namespace smg
