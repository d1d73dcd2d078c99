#include "host/fleet/endpoint.hpp"

#include <algorithm>
#include <array>

namespace smg {

// Walks from loop to loop, the control loop last: quiesce on each, and on from there at the end of
// the turn, when what the transport deferred has run; then close.
struct Endpoints::Closing : smg_task {
  Endpoints* owner = nullptr;
  std::unique_ptr<Endpoint> endpoint;
  std::uint32_t loop = 0;

  static void step(smg_task* task) {
    auto* self = static_cast<Closing*>(task);
    const Endpoint& endpoint = *self->endpoint;
    guarded(endpoint.transport()->faults, "quiesce",
            [&] { endpoint.api().quiesce(endpoint.handle()); });
    self->run = go_on;
    Loop::current()->defer(self);
  }

  static void go_on(smg_task* task) {
    auto* self = static_cast<Closing*>(task);
    LoopGroup& loops = self->owner->loops_;
    const bool was_last = ++self->loop == loops.count();
    self->run = was_last ? finish : step;
    loops.at(was_last ? self->loop - 1 : self->loop).post(self);
  }

  static void finish(smg_task* task) {
    const std::unique_ptr<Closing> self(static_cast<Closing*>(task));
    const Endpoint& endpoint = *self->endpoint;
    guarded(endpoint.transport()->faults, "close",
            [&] { endpoint.api().close(endpoint.handle()); });
    {
      const std::lock_guard lock(self->owner->mutex_);
      auto& runtimes = self->owner->runtimes_;
      runtimes.erase(runtimes.find(self->endpoint->ref()));
    }
    self->owner->open_.fetch_sub(1, std::memory_order_release);
  }
};

std::shared_ptr<Endpoint> Endpoints::open(const TransportPtr& transport,
                                          const WorkerDescription& description,
                                          std::shared_ptr<WorkerRuntime> runtime, std::uint64_t ref,
                                          std::uint32_t slot, std::string& error) {
  if (transport->faults != nullptr && transport->faults->fenced()) {
    error = "transport " + transport->name +
            " is fenced after too many faults and opens no worker: correct it and reload it";
    return nullptr;
  }
  auto worker = std::make_unique<WorkerView>(description, &runtime->live, ref, slot);
  std::array<char, 512> text{};
  smg_error failure{text.data(), text.size(), 0};
  void* handle = nullptr;
  smg_status status = SMG_E_INTERNAL;
  guarded(transport->faults, "open", [&] {
    status = transport->api->open(transport->self, &worker->abi(), &handle, &failure);
  });
  if (status != SMG_OK) {
    error.assign(text.data(), std::min<std::size_t>(failure.size, text.size()));
    if (error.empty()) error = "transport " + transport->name + " refused " + description.url;
    return nullptr;
  }
  open_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    runtimes_.emplace(ref, runtime);
  }
  auto endpoint =
      std::make_unique<Endpoint>(transport, std::move(worker), std::move(runtime), handle);
  return {endpoint.release(), [this](Endpoint* gone) { close(std::unique_ptr<Endpoint>(gone)); }};
}

std::shared_ptr<WorkerRuntime> Endpoints::runtime_of(std::uint64_t ref) const {
  const std::lock_guard lock(mutex_);
  const auto found = runtimes_.find(ref);
  return found == runtimes_.end() ? nullptr : found->second;
}

void Endpoints::close(std::unique_ptr<Endpoint> endpoint) {
  auto* closing = new Closing{};
  closing->run = Closing::step;
  closing->owner = this;
  closing->endpoint = std::move(endpoint);
  loops_.at(0).post(closing);
}

}  // namespace smg
