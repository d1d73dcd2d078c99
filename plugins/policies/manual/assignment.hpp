// How a key that is pinned nowhere gets its worker.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "smg/cpp/least.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/random.hpp"

namespace manual {

enum class Assignment : uint8_t {
  random,     // any eligible worker
  min_load,   // the fewest requests in flight
  min_group,  // the fewest routing keys in flight
};

// `delegate` names the policy under a sticky override; here there is none, so it is min_load.
// REQUIRES: one of the option's choices.
constexpr Assignment assignment_of(std::string_view name) {
  if (name == "random") return Assignment::random;
  return name == "min_group" ? Assignment::min_group : Assignment::min_load;
}

// Ties are equally likely. REQUIRES: eligible is not empty.
inline uint32_t assign(Assignment how, uint64_t random, const smg::Pool& pool,
                       std::span<const uint32_t> eligible) {
  if (how == Assignment::random) {
    return eligible[smg::uniform(random, static_cast<uint32_t>(eligible.size()))];
  }
  smg::Least<uint32_t> least(random);
  for (const uint32_t index : eligible) {
    least.offer(index,
                how == Assignment::min_load ? pool.in_flight(index) : pool.routing_keys(index));
  }
  return least.index();
}

}  // namespace manual
