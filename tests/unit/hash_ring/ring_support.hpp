// What the tests of this folder share: rings of URLs, and the policies with a fleet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_policy.hpp"
#include "fake_pool.hpp"
#include "hash_ring.hpp"

namespace smg::test {

inline std::string worker_url(std::uint32_t number) {
  return "http://w" + std::to_string(number) + ":8000";
}

inline std::vector<std::string> worker_urls(std::uint32_t count) {
  std::vector<std::string> urls;
  for (std::uint32_t i = 1; i <= count; ++i) urls.push_back(worker_url(i));
  return urls;
}

inline HashRing ring_of(const std::vector<std::string>& urls, const HashRing& base = HashRing()) {
  const std::vector<std::string_view> views(urls.begin(), urls.end());
  return HashRing(views, base);
}

// All members from the key on, clockwise.
inline std::vector<std::uint32_t> walk_of(const HashRing& ring, std::string_view key) {
  Visited visited;
  std::vector<std::uint32_t> members;
  ring.find(HashRing::position_of(key), visited, [&](std::uint32_t member) {
    members.push_back(member);
    return false;
  });
  return members;
}

inline std::uint32_t owner_of(const HashRing& ring, std::string_view key) {
  Visited visited;
  return ring.find(HashRing::position_of(key), visited, [](std::uint32_t) { return true; }).value();
}

// Pseudo-random numbers, the same in every run.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(bits() % bound); }

 private:
  std::uint64_t state_;
};

// A host that gives both policies' options their defaults.
class RingHost : public FakeHost {
 public:
  explicit RingHost(std::uint32_t loops = 2) : FakeHost(loops) {
    floats["bounded_load_factor"] = 0;
    ints["prefix_token_count"] = 256;
    floats["load_factor"] = 1.25;
    ints["balance_abs_threshold"] = 10;
    strings["cache_boundaries"] = "";
  }
};

// A policy and its pool, changed as the host does it.
class RingBench {
 public:
  RingBench(const char* library, RingHost& the_host, std::uint32_t workers)
      : host(the_host), policy(library, host), fleet(workers) {
    become(fleet.pool());
  }

  void become(std::unique_ptr<FakePool> next) {
    policy.pool_changed(pool != nullptr ? pool->raw() : nullptr, next->raw());
    pool = std::move(next);
  }
  void set_loads(const std::vector<std::uint32_t>& loads) {
    for (std::uint32_t i = 0; i < loads.size(); ++i) fleet.set_in_flight(i, loads[i]);
  }

  std::optional<std::uint32_t> by_key(std::string_view key) const {
    smg_policy_request request{};
    request.routing_key = {key.data(), key.size()};
    return policy.select(pool->raw(), request);
  }
  std::optional<std::uint32_t> by_tokens(const std::vector<std::uint32_t>& tokens) const {
    smg_policy_request request{};
    request.tokens = tokens.data();
    request.token_count = tokens.size();
    return policy.select(pool->raw(), request);
  }
  std::optional<std::uint32_t> by_text(std::string_view text) const {
    smg_policy_request request{};
    request.text = {text.data(), text.size()};
    return policy.select(pool->raw(), request);
  }
  using Headers = std::vector<std::pair<std::string, std::string>>;
  std::optional<std::uint32_t> by_headers(const Headers& headers, std::uint64_t random = 0) const {
    std::vector<smg_header> raw;
    for (const auto& [name, value] : headers) raw.push_back({view_of(name), view_of(value)});
    smg_policy_request request{};
    request.headers = raw.data();
    request.header_count = static_cast<std::uint32_t>(raw.size());
    request.random = random;
    return policy.select(pool->raw(), request);
  }

  RingHost& host;
  LoadedPolicy policy;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;
};

inline const smg_option* option_of(const smg_plugin& plugin, std::string_view name) {
  const auto* end = plugin.options + plugin.option_count;
  const auto* found = std::find_if(plugin.options, end, [&](const smg_option& option) {
    return std::string_view(option.name.data, option.name.size) == name;
  });
  return found != end ? found : nullptr;
}

inline std::string string_of(smg_view view) {
  return {view.data, view.size};
}

}  // namespace smg::test
