#include "host/routing/sticky_keys.hpp"

#include <algorithm>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"

namespace smg {
namespace {

// Entries that one slice of a sweep may remove, and the pause before the next one.
constexpr std::size_t kSlice = 2000;
constexpr std::uint64_t kPause = 20'000'000;

std::uint32_t first_eligible(const Pool& pool, const Pins& pins) {
  for (std::size_t i = 0; i < pins.size(); ++i) {
    const std::uint32_t index = pool.find_url(pins[i]);
    if (index != Pool::kNobody && smg_pool_eligible(&pool.view, index) != 0) return index;
  }
  return Selection::kNone;
}

}  // namespace

StickyKeys::StickyKeys(const RoutingKeyOverride& config, Families& families)
    : mode_(static_cast<Mode>(std::find(defaults::kAssignmentModes.begin(),
                                        defaults::kAssignmentModes.end(), config.assignment_mode) -
                              defaults::kAssignmentModes.begin())),
      max_idle_(seconds_to_ns(config.max_idle_secs)),
      interval_(seconds_to_ns(config.eviction_interval_secs)),
      entries_(families.manual_policy_cache_entries.with({})) {
  std::size_t i = 0;
  for (const std::string_view branch :
       {"no_healthy_workers", "occupied_hit", "occupied_miss", "vacant", "cap_respill"}) {
    branches_[i++] = families.manual_policy_branch.with({branch});
  }
}

// A worker for a key that has none: the policy's choice, or what the mode says.
Selection StickyKeys::assign(const Pool& pool, const smg_policy_request& request, bool shed) const {
  if (mode_ == Mode::delegate) return select_worker(pool, request, shed);
  const auto cost = [&](std::uint32_t i) -> std::uint32_t {
    if (mode_ == Mode::random) return 0;
    return mode_ == Mode::min_load ? smg_worker_in_flight(pool.view.live[i])
                                   : smg_worker_routing_keys(pool.view.live[i]);
  };
  Selection selection;
  selection.index = least_eligible(pool.view, request.random, cost);
  if (selection.index == Selection::kNone) {
    return without_eligible(pool.view, shed, request.random);
  }
  selection.verdict = Verdict::chosen;
  return selection;
}

Selection StickyKeys::select(const Pool& pool, const smg_policy_request& request,
                             std::string_view key, std::uint64_t key_hash, bool shed) {
  const auto count = [&](Branch branch) { branches_[branch].add(); };
  const auto at_cap = [&](std::uint32_t index) {
    return pool.members[index]->runtime()->keys().running(key_hash) >= kCap;
  };
  const StickyKey scoped{pool.model, request.leg, key};
  std::uint32_t pinned = Selection::kNone;
  const bool known = map_.visit(scoped, request.now,
                                [&](const Pins& pins) { pinned = first_eligible(pool, pins); });
  if (pinned != Selection::kNone && !at_cap(pinned)) {
    count(occupied_hit);
    return {.index = pinned, .verdict = Verdict::chosen};
  }
  Selection selection = assign(pool, request, shed);
  // Where nobody is eligible the request is steered or refused, and leaves no pin behind.
  if (selection.verdict != Verdict::chosen) {
    count(no_healthy_workers);
    return selection;
  }
  const std::string_view url = text(pool.view.workers[selection.index]->url);
  if (pinned != Selection::kNone) {
    count(cap_respill);
    if (selection.index != pinned && !at_cap(selection.index)) {
      map_.update(scoped, request.now, [&](Pins& pins) { pins.push_front(url); });
    }
    return selection;
  }
  count(known ? occupied_miss : vacant);
  map_.update(scoped, request.now, [&](Pins& pins) {
    // Another request with this key may have pinned it meanwhile.
    const std::uint32_t theirs = first_eligible(pool, pins);
    if (theirs != Selection::kNone) {
      selection.index = theirs;
    } else if (mode_ == Mode::delegate) {
      pins.push_front(url);
    } else {
      pins.append(url);
    }
  });
  entries_.set(static_cast<double>(map_.size()));
  return selection;
}

void StickyKeys::start(Loop& control) {
  if (max_idle_ == 0) return;
  control_ = &control;
  timer_.owner = this;
  timer_.fired = [](smg_timer* timer) { static_cast<Timer*>(timer)->owner->sweep(); };
  control.set_timer(&timer_, control.now() + interval_);
}

void StickyKeys::stop() {
  if (control_ != nullptr) control_->clear_timer(&timer_);
}

void StickyKeys::sweep() {
  const bool more = map_.evict_idle(control_->now(), max_idle_, kSlice) == kSlice;
  entries_.set(static_cast<double>(map_.size()));
  control_->set_timer(&timer_, control_->now() + (more ? kPause : interval_));
}

}  // namespace smg
