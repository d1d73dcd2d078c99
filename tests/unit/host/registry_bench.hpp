#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/fleet/endpoint.hpp"
#include "host/fleet/registry.hpp"

namespace smg::test {

// A registry whose changes are published when the test says so, over a transport that does nothing.
struct RegistryBench {
  RegistryBench()
      : loops(1),
        metrics({.loops = loops.count()}),
        families(metrics),
        bus(Loop::clock, nullptr),
        endpoints(loops) {
    policy_api.struct_size = sizeof policy_api;
    policy.api = &policy_api;
    policy.name = "p";
    transport_api.open = [](void*, const smg_worker*, void** endpoint, smg_error*) -> smg_status {
      *endpoint = nullptr;
      return SMG_OK;
    };
    transport_api.quiesce = transport_api.close = [](void*) {};
    transport->api = &transport_api;
    loops.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
    registry = std::make_unique<Registry>(
        endpoints, families, bus,
        [this](std::string_view model, const Worker* first) {
          if (policy_for) return policy_for(model, first);
          return std::shared_ptr<const PolicyRef>(std::shared_ptr<void>(), &policy);
        },
        [this] { ++asked; });
  }
  ~RegistryBench() {
    registry->remove_all();
    registry.reset();
    while (!endpoints.all_closed()) std::this_thread::yield();
    loops.stop();
  }

  std::shared_ptr<Worker> add(const std::string& url, const std::string& model = "m",
                              std::vector<std::pair<std::string, std::string>> labels = {}) {
    WorkerDescription description;
    description.url = url;
    description.models = {model};
    description.labels = std::move(labels);
    std::string error;
    description.id = url;
    auto candidate = registry->open(description, transport, error);
    return registry->add(std::move(*candidate), description);
  }
  bool overloaded(const Worker& worker) const {
    return (worker.state() & SMG_STATE_OVERLOADED) != 0;
  }
  std::uint32_t status(const Worker& worker) const {
    return worker.state() & SMG_STATE_STATUS_MASK;
  }

  LoopGroup loops;
  Metrics metrics;
  Families families;
  Bus bus;
  Endpoints endpoints;
  smg_policy_api policy_api{};
  PolicyRef policy;
  smg_transport_api transport_api{};
  std::shared_ptr<TransportRef> transport = std::make_shared<TransportRef>();
  int asked = 0;
  Registry::PolicyFor policy_for;  // unset: `policy` for every model
  std::unique_ptr<Registry> registry;
};

}  // namespace smg::test
