// How long a new request would wait on each worker, by the worker's last load report and by what
// was sent there since. The scorer of least_load and power_of_two.
//
//   queued = waiting uncached tokens, else waiting requests x mean prefill
//   score  = (queued + tokens sent since the report) / throughput + weight * k / (1 - k)
//
// with k the KV usage, at most 0.999: in seconds, lower is better. The second term is a barrier: a
// worker whose cache is nearly full is as bad as a long queue. A worker without a report is taken
// to be as good as the best one that has one, plus what our own requests on it need; without any
// report the fewest requests in flight win. Equal scores are equally likely.
//
// On any thread. What was sent is kept per worker and cleared by its next report. The best one is
// found and credited under one lock, so that a burst does not see the same empty worker many times;
// reports are read before, so that the lock is held for the comparison only.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "smg/cpp/policy.hpp"

namespace smg {

struct ExpectedWaitTunables {
  double kv_pressure_weight = 0.15;   // s
  double mean_prefill_tokens = 1024;  // of a request whose tokens are not known
  double default_throughput = 2000;   // tokens/s, of a worker that does not say
  int64_t max_waiting_requests = 0;   // leaves workers with as many out; 0: off
};

class ExpectedWait {
 public:
  // The books are divided by slot into `stripes`, with a lock each: choices between few workers run
  // side by side. REQUIRES: stripes > 0.
  explicit ExpectedWait(const ExpectedWaitTunables& tunables, std::size_t stripes = 1)
      : tunables_(tunables), stripes_(stripes) {}

  // The best of `candidates`, which are eligible; books the request on it. nullopt: all are at the
  // cap, or there are none. REQUIRES: at most two candidates if there is more than one stripe.
  std::optional<uint32_t> choose(const Request& request, const Pool& pool,
                                 std::span<const uint32_t> candidates);

 private:
  // A worker's report, read once.
  struct Figures {
    uint64_t ref;
    uint64_t sequence;
    uint32_t slot;
    bool reported;
    int64_t waiting_requests;
    double queued_tokens;
    double throughput;  // 0: it does not say
    double pressure;    // s, the barrier
  };

  // What went to a worker since its last report.
  struct Credit {
    uint64_t ref = 0;
    uint64_t sequence = 0;  // of the report
    double tokens = 0;
    int64_t requests = 0;
  };

  struct alignas(64) Stripe {
    std::mutex mutex;
    std::vector<Credit> credits;  // by slot / stripes
  };

  Figures figures_of(const smg_worker& worker) const;
  Stripe& stripe_of(const Figures& worker) { return stripes_[worker.slot % stripes_.size()]; }
  Credit& credit_of(const Figures& worker);
  std::optional<uint32_t> choose(const Request& request, const Pool& pool,
                                 std::span<const uint32_t> candidates, std::span<Figures> figures);
  std::optional<uint32_t> choose_locked(const Request& request, const Pool& pool,
                                        std::span<const uint32_t> candidates,
                                        std::span<const Figures> figures);

  const ExpectedWaitTunables tunables_;
  std::vector<Stripe> stripes_;
  std::mutex rooms_mutex_;
  std::vector<std::vector<Figures>>
      rooms_;  // to work in, one for each thread that ever chose at once
};

}  // namespace smg
