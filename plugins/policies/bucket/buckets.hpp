// The prefill workers of one pool, and which sizes of requests each of them takes.
//
// Every worker owns a range of sizes; together the ranges cover all of them, in the order of the
// pool. A request goes to the owner of its size, unless what was routed lately is too uneven: then
// to the worker that was given least. adjust() moves the bounds so that each worker would have had
// an equal share of what was routed within the window.
//
// A size is a prompt's tokens, or its characters where no tokens are known; thresholds are in the
// same unit. Workers that stay keep what was routed to them when membership changes; what was
// routed to others is forgotten, and the bounds start anew. At most kMaxRecords requests are
// remembered: where more come within a window, the latest count.
//
// On any thread. One lock, held for a scan of the candidates; adjust() sorts without it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smg/cpp/policy.hpp"

namespace bucket {

struct Tunables {
  uint64_t balance_abs = 64;        // sizes may differ by as much
  float balance_rel = 1.5f;         // ... or by this factor
  uint64_t window = 5'000'000'000;  // ns that a request is remembered
};

struct Bounds {
  uint64_t low;
  uint64_t high;  // inclusive
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// The bounds before anything is known: equal parts of 0 to 4095, the last one open.
std::vector<Bounds> initial_bounds(std::size_t workers);

// Bounds that give each worker about `share` of these sizes. REQUIRES: sizes are ascending.
std::vector<Bounds> fitted_bounds(std::span<const uint64_t> sizes, std::size_t workers,
                                  uint64_t share);

class Buckets {
 public:
  static constexpr std::size_t kMaxRecords = std::size_t{1} << 16;

  explicit Buckets(const Tunables& tunables) : tunables_(tunables) {}

  // [control] The pool as it is from now on.
  void set_members(const smg_pool& pool);

  // One of `eligible`, which are indices of the pool; remembers the request. If the pool is not the
  // present one, any of them, each equally likely. nullopt: none is eligible.
  std::optional<uint32_t> choose(const smg::Pool& pool, std::span<const uint32_t> eligible,
                                 uint64_t size, uint64_t now, uint64_t random);

  // [control] Moves the bounds if the load has changed by more than a factor of two.
  void adjust(uint64_t now);

  std::vector<Bounds> bounds() const;
  // What was routed to each worker within the window, as of the last call.
  std::vector<uint64_t> recent() const;

 private:
  struct Record {
    uint64_t size;
    uint64_t time;
    uint32_t member;
  };

  uint32_t owner_of(uint64_t size) const;
  void forget_until(uint64_t now);
  void forget_oldest();
  void record(uint32_t member, uint64_t size, uint64_t now);

  const Tunables tunables_;
  mutable std::mutex mutex_;
  uint64_t generation_ = 0;  // of the present pool
  // Of each member, in the order of the pool.
  std::vector<std::string> urls_;
  std::vector<Bounds> bounds_;
  std::vector<uint64_t> recent_;  // sizes within the window
  std::deque<Record> records_;    // oldest first
  uint64_t window_total_ = 0;     // of the sizes in records_
  uint64_t share_ = 0;            // that the bounds were fitted to; 0: they are the initial ones
};

}  // namespace bucket
