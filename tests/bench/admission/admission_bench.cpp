// What admission costs a request that need not wait: enter, begin of data, leave.
#include <benchmark/benchmark.h>

#include "host/admission/ticket.hpp"

namespace {

struct NoLoop {
  void post(smg_task*) {}
};
struct Nobody final : smg::AdmissionTicket::Holder {
  void admitted() override {}
  void preempted() override {}
};

struct Fixture {
  smg::Metrics metrics{{.loops = 2}};
  smg::Families families{metrics};
  std::unique_ptr<smg::Admission> limiter = make(false), scheduler = make(true), off = make_off();

  std::unique_ptr<smg::Admission> make(bool by_priority) {
    smg::Config config;
    config.admission.max_concurrent_requests = 1024;
    config.priority_scheduler.enabled = by_priority;
    return smg::make_admission(config, families, {});
  }
  std::unique_ptr<smg::Admission> make_off() { return smg::make_admission({}, families, {}); }
};

Fixture& fixture() {
  static Fixture one;
  return one;
}

void run(benchmark::State& state, smg::Admission& admission) {
  NoLoop loop;
  Nobody nobody;
  auto* ticket = new smg::AdmissionTicket(nobody, loop);
  smg::Metrics::bind_thread(static_cast<std::uint32_t>(state.thread_index()));
  smg::AdmissionRefusal refusal;
  std::uint64_t now = 1;
  for (auto _ : state) {
    now += 1000;
    benchmark::DoNotOptimize(admission.enter(*ticket, {"", "anonymous", now}, refusal));
    benchmark::DoNotOptimize(ticket->begin_data());
    ticket->leave(now);
  }
  smg::Metrics::unbind_thread();
  ticket->abandon(now);
}

void admit_without_limit(benchmark::State& state) {
  run(state, *fixture().off);
}
BENCHMARK(admit_without_limit);

void admit_by_limiter(benchmark::State& state) {
  run(state, *fixture().limiter);
}
BENCHMARK(admit_by_limiter)->Threads(1)->Threads(2);

void admit_by_scheduler(benchmark::State& state) {
  run(state, *fixture().scheduler);
}
BENCHMARK(admit_by_scheduler)->Threads(1)->Threads(2);

}  // namespace
