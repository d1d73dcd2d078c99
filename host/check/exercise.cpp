#include "host/check/exercise.hpp"

#include <exception>
#include <utility>

#include "host/check/local_worker.hpp"
#include "host/check/worker_park.hpp"
#include "host/plugin/state_handover.hpp"

namespace smg::check {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kStreamLimit = 500;  // ms, and as much again for being late

Trouble policy_life(Rig& rig, const PluginInstance& instance, int selections) {
  const smg_policy_api& api = instance.policy();
  Random random(42);
  WorkerPark park(12);
  auto pool = park.all();
  const auto changed = [&](const smg_pool* before, const smg_pool* after) {
    if (api.pool_changed == nullptr) return;
    rig.on_control([&] { api.pool_changed(instance.self(), before, after); });
  };
  changed(nullptr, &pool->view());
  Trouble trouble;
  rig.on_loop(0, [&] {
    for (int i = 0; i < selections && !trouble; ++i) {
      park.stir(random);
      const RandomRequest request(random, Loop::current()->now());
      std::uint32_t index = 0xffffffff;
      const smg_status status = api.select(instance.self(), &request.view(), &pool->view(), &index);
      const std::string problem = choice_problem(status, pool->view(), index);
      if (!problem.empty()) trouble = {"select-eligible", problem};
      if (status != SMG_OK || trouble) continue;
      const smg_worker* const worker = pool->view().workers[index];
      if (api.dispatched != nullptr) api.dispatched(instance.self(), &request.view(), worker);
      if (api.completed != nullptr) api.completed(instance.self(), worker, i % 8 != 0);
    }
  });
  auto fewer = park.some(random);
  changed(&pool->view(), &fewer->view());
  changed(&fewer->view(), nullptr);
  return trouble;
}

// A request to a port where nobody listens must come to an end, whatever that is: some transports
// answer by themselves.
Trouble transport_life(Rig& rig, const PluginInstance& instance) {
  const smg_transport_api& api = instance.transport();
  const ClosedPort port;
  const LocalWorker worker(api, port.number());
  void* endpoint = nullptr;
  std::string problem;
  rig.on_control([&] { endpoint = open_endpoint(instance, worker, problem); });
  if (endpoint == nullptr) return {"open", problem};
  Stream stream;
  LocalRequest request("/v1/chat/completions", "{}");
  rig.on_loop(0, [&] {
    request.view().deadline = Loop::current()->now() + kStreamLimit * kMillisecond;
    rig.streams().start(api, endpoint, request.view(), stream);
  });
  const bool ended = rig.wait([&] { return stream.ended(); }, 2 * kStreamLimit);
  Trouble trouble;
  rig.on_loop(0, [&] {
    if (stream.ended()) return;
    stream.cancelled = true;
    api.cancel(instance.self(), stream.number);
  });
  if (!ended) {
    trouble = {"start", "a request to a port where nobody listens had not ended " +
                            std::to_string(kStreamLimit) +
                            " ms after its deadline; every start() must come to sink.end()"};
  }
  close_endpoint(rig, instance, endpoint);
  rig.streams().forget(stream);
  return trouble;
}

Trouble monitor_life(Rig& rig, const PluginInstance& instance) {
  const smg_monitor_api& api = instance.monitor();
  Trouble trouble;
  for (const std::string_view runtime : kRuntimes) {
    const LocalWorker worker("http", runtime);
    rig.on_control([&] {
      const std::uint32_t score = api.match(instance.self(), &worker.view());
      if (score > 100) {
        trouble = {"match",
                   "match() answered " + std::to_string(score) + "; from 0 to 100 are allowed"};
        return;
      }
      // A source that does not suit a worker is never given it.
      if (score == 0) return;
      void* source = nullptr;
      std::string problem;
      if (attach(instance, worker.view(), source, problem)) {
        api.detach(source);
      } else {
        trouble = {"attach", problem};
      }
    });
    if (trouble) break;
  }
  return trouble;
}

// A second instance takes over what the first one has learnt.
Trouble succession(Rig& rig, const std::shared_ptr<const Plugin>& plugin,
                   const PluginOptions& options, const PluginInstance& first) {
  std::string problem;
  auto second = rig.create(plugin, options, problem);
  if (second == nullptr) return {"create", problem};
  const std::string note = hand_over_state(first, *second);
  Trouble trouble;
  if (!note.empty() && note != kNoHandover) {
    trouble = {"handover", "does not take over its own state: " + note};
  }
  rig.destroy(std::move(second));
  return trouble;
}

Trouble life(Rig& rig, const std::shared_ptr<const Plugin>& plugin, const PluginOptions& options,
             int selections) {
  std::string problem;
  auto instance = rig.create(plugin, options, problem);
  if (instance == nullptr) return {"create", problem};
  Trouble trouble;
  try {
    switch (plugin->kind()) {
      case SMG_KIND_POLICY:
        trouble = policy_life(rig, *instance, selections);
        if (!trouble) trouble = succession(rig, plugin, options, *instance);
        break;
      case SMG_KIND_TRANSPORT:
        trouble = transport_life(rig, *instance);
        break;
      default:
        trouble = monitor_life(rig, *instance);
        break;
    }
  } catch (...) {
    rig.destroy(std::move(instance));
    throw;
  }
  rig.destroy(std::move(instance));
  return trouble;
}

}  // namespace

Trouble exercise(Rig& rig, const std::shared_ptr<const Plugin>& plugin,
                 const PluginOptions& options, int selections) {
  Trouble trouble;
  try {
    trouble = life(rig, plugin, options, selections);
  } catch (const std::exception& exception) {
    return {"exception", std::string("a function of the table threw an exception: ") +
                             exception.what() + "; catch it inside (the C++ helpers do)"};
  } catch (...) {
    return {"exception",
            "a function of the table threw an exception; catch it inside (the C++ helpers do)"};
  }
  if (trouble) return trouble;
  if (auto text = rig.complaints().first(Complaints::Kind::thread); !text.empty()) {
    return {"thread-tags", text};
  }
  if (auto text = rig.complaints().first(Complaints::Kind::order); !text.empty()) {
    return {plugin->kind() == SMG_KIND_TRANSPORT ? "stream-order" : "services", text};
  }
  return {};
}

}  // namespace smg::check
