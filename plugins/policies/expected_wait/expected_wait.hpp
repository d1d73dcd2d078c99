// How long a new request would wait on each worker, by the worker's last load report and by what
// was sent there since. The scorer of least_load and power_of_two.
//
//   queued = waiting uncached tokens, else waiting requests x mean prefill
//   score  = (queued + tokens sent since the report) / throughput + weight * k / (1 - k)
//
// with k the KV usage, at most 0.999: in seconds, lower is better. The second term is a barrier: a
// worker whose cache is nearly full is as bad as a long queue. A worker without a report is taken
// to be as good as the best one that has one, plus what our own requests on it need; without any
// report the fewest requests in flight win.
//
// Any loop; the books of what was sent are under a lock, so that a burst does not see the same
// empty worker many times.
#pragma once

#include <algorithm>
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
  explicit ExpectedWait(const ExpectedWaitTunables& tunables) : tunables_(tunables) {}

  // The best of `candidates`, which are eligible; books the request on it. nullopt: all are at the
  // cap.
  std::optional<uint32_t> choose(const Request& request, const Pool& pool,
                                 std::span<const uint32_t> candidates);

 private:
  // What went to a worker since its last report.
  struct Credit {
    uint64_t ref = 0;
    uint64_t sequence = 0;  // of the report
    double tokens = 0;
    int64_t requests = 0;
  };

  // The worker's report, read once.
  struct Figures {
    bool reported;
    int64_t waiting_requests;
    double queued_tokens;
    double throughput;
    double usage;
    uint64_t sequence;
  };

  Figures figures_of(const smg_worker_live& live) const;
  Credit& credit_of(const smg_worker& worker, uint64_t sequence);

  const ExpectedWaitTunables tunables_;
  std::mutex mutex_;
  std::vector<Credit> credits_;   // by slot
  std::vector<Figures> figures_;  // of the running choice
  std::vector<uint32_t> candidates_;
};

}  // namespace smg
