#include "host/plugin/host_context.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "host/base/views.hpp"

namespace smg {

HostServices HostServices::basic() {
  HostServices services;
  services.now = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  };
  services.unix_ms = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  };
  services.logger = spdlog::default_logger();
  return services;
}

HostContext::HostContext(const HostServices& services, std::string instance, PluginOptions options)
    : services_(services),
      instance_(std::move(instance)),
      faults_(services_, instance_),
      options_(std::move(options)),
      host_{sizeof(smg_host), 0, this, find_service} {
  for (const auto& [name, value] : options_) {
    const auto* const list = std::get_if<std::vector<std::string>>(&value);
    if (list == nullptr) continue;
    auto& views = lists_[name];
    for (const auto& item : *list) views.push_back(view(item));
  }
}

HostContext::~HostContext() {
  unsubscribe_all();
}

const OptionValue* HostContext::option(std::string_view name) const {
  const auto found = options_.find(name);
  return found == options_.end() ? nullptr : &found->second;
}

const std::vector<smg_view>* HostContext::list(std::string_view name) const {
  const auto found = lists_.find(name);
  return found == lists_.end() ? nullptr : &found->second;
}

std::uint64_t HostContext::subscribe(std::uint64_t types, smg_event_fn fn, void* context) {
  static constexpr auto kHear = [](void* listener, const smg_event* event) {
    // A copy: the call may end the subscription.
    const Listener to = *static_cast<const Listener*>(listener);
    guarded(to.faults, "an event function", [&] { to.fn(to.context, event); });
  };
  auto listener = std::make_unique<Listener>(Listener{fn, context, &faults_});
  const std::lock_guard lock(mutex_);
  const std::uint64_t subscription = services_.bus->subscribe(
      {.name = instance_, .types = types, .fn = kHear, .context = listener.get()});
  subscriptions_.emplace(subscription, std::move(listener));
  return subscription;
}

void HostContext::unsubscribe(std::uint64_t subscription) {
  decltype(subscriptions_)::node_type removed;
  {
    const std::lock_guard lock(mutex_);
    removed = subscriptions_.extract(subscription);
  }
  // Without the lock: it waits for a call in progress, which may subscribe.
  if (!removed.empty()) services_.bus->unsubscribe(subscription);
}

void HostContext::unsubscribe_all() {
  decltype(subscriptions_) all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(subscriptions_);
  }
  for (const auto& [subscription, listener] : all) services_.bus->unsubscribe(subscription);
}

}  // namespace smg
