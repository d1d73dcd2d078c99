// The policy out of its library on a fleet of fakes: what most tests here talk to.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "fake_host.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"
#include "option_defaults.hpp"
#include "smg/events.h"

namespace smg::test {

using Tokens = std::vector<std::uint32_t>;

// first, first + 1, ... last
inline Tokens count_up(std::uint32_t first, std::uint32_t last) {
  Tokens tokens(last - first + 1);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class Rig {
 public:
  using Configure = std::function<void(FakeHost&)>;

  explicit Rig(
      std::uint32_t workers, const Configure& configure = [](FakeHost&) {})
      : fleet(workers), pool(fleet.pool()) {
    host.time = 1'000'000'000'000;
    set_defaults(host);
    configure(host);
    policy = std::make_unique<LoadedPolicy>(SMG_CACHE_AWARE, host);
    policy->pool_changed(nullptr, pool->raw());
  }

  void loads(std::initializer_list<std::uint32_t> requests) {
    std::uint32_t worker = 0;
    for (const std::uint32_t each : requests) fleet.set_in_flight(worker++, each);
  }

  std::optional<std::uint32_t> text(const std::string& prompt, const std::string& name_space = {}) {
    smg_policy_request request = base(name_space);
    request.text = view_of(prompt);
    return policy->select(pool->raw(), request);
  }
  std::optional<std::uint32_t> tokens(const Tokens& prompt, const std::string& name_space = {}) {
    smg_policy_request request = base(name_space);
    request.tokens = prompt.data();
    request.token_count = prompt.size();
    return policy->select(pool->raw(), request);
  }
  // All choices of many requests, each of a rig of its own.
  static std::set<std::uint32_t> choices(
      const std::function<std::uint32_t(Rig&)>& choose, std::uint32_t workers,
      const Configure& configure = [](FakeHost&) {}) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t i = 1; i <= 40; ++i) {
      Rig rig(workers, configure);
      rig.random = i * 0x9e3779b97f4a7c15u;
      seen.insert(choose(rig));
    }
    return seen;
  }

  // Makes `worker` the one that the prompt was sent to, by keeping all others busier. Only without
  // reports.
  template <class Send>
  void teach(std::uint32_t worker, Send send) {
    for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.set_in_flight(i, i == worker ? 0 : 1);
    const auto chosen = send(*this);
    if (chosen != worker) throw std::logic_error("another worker was chosen");
    for (std::uint32_t i = 0; i < fleet.size(); ++i) fleet.set_in_flight(i, 0);
  }
  void teach_text(std::uint32_t worker, const std::string& prompt) {
    teach(worker, [&](Rig& rig) { return rig.text(prompt); });
  }
  void teach_tokens(std::uint32_t worker, const Tokens& prompt) {
    teach(worker, [&](Rig& rig) { return rig.tokens(prompt); });
  }

  void kv(std::uint32_t worker, std::uint32_t action, const std::vector<std::uint64_t>& blocks,
          const Tokens& ids = {}, std::uint64_t parent = 0, std::uint32_t block_size = 4) {
    smg_event_kv event{};
    event.event.struct_size = sizeof event;
    event.event.type = SMG_EVENT_KV_BLOCKS;
    event.event.time = host.time;
    event.event.worker_url = fleet.worker(worker).url;
    event.action = action;
    event.dp_rank = -1;
    event.blocks = blocks.data();
    event.block_count = blocks.size();
    event.parent = parent;
    event.tokens = ids.empty() ? nullptr : ids.data();
    event.token_count = ids.size();
    event.block_size = block_size;
    host.publish(event.event);
  }
  void stored(std::uint32_t worker, const std::vector<std::uint64_t>& blocks, const Tokens& ids,
              std::uint64_t parent = 0) {
    kv(worker, SMG_KV_STORED, blocks, ids, parent);
  }

  double branch(const std::string& name) const {
    return host.metric("smg_cache_aware_policy_branch_total{" + name + "}");
  }

  FakeHost host;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;
  std::unique_ptr<LoadedPolicy> policy;
  std::uint64_t random = 1;  // of the next request; another one after each

 private:
  smg_policy_request base(const std::string& name_space) {
    smg_policy_request request{};
    request.now = host.time;
    request.random = random;
    random = random * 6364136223846793005u + 1442695040888963407u;
    request.cache_namespace = view_of(name_space);
    return request;
  }
};

}  // namespace smg::test
