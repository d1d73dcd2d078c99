#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <thread>

#include "../host/registry_bench.hpp"
#include "fixture.hpp"
#include "host/load/load_poller.hpp"

using namespace smg;

namespace {

// A worker that is polled, and a source that does what the test says.
struct Bench : test::Fixture, LoadIntake {
  Bench() : faults_of(services, "monitor.unruly") {
    api.match = [](void* self, const smg_worker*) {
      ++static_cast<Bench*>(self)->matched;
      return 100u;
    };
    api.attach = [](void* self, const smg_worker*, void** source, smg_error*) -> smg_status {
      *source = self;
      return SMG_OK;
    };
    api.detach = [](void* self) { ++static_cast<Bench*>(self)->detached; };
    api.poll = [](void* self, std::uint64_t ticket, std::uint64_t, smg_poll_done done) {
      auto& bench = *static_cast<Bench*>(self);
      ++bench.polled;
      bench.inside = true;
      bench.detached_inside = bench.detached;
      try {
        bench.answer(ticket, done);
      } catch (...) {
        bench.inside = false;
        throw;
      }
      bench.detached_inside = bench.detached - bench.detached_inside;
      bench.inside = false;
    };
    on_control([&] {
      worker = fleet.add("http://w");
      fleet.registry->publish();
      fleet.registry->set_status(*worker, SMG_STATUS_READY);
    });
  }
  ~Bench() override {
    on_control([&] { poller.reset(); });
    on_control([&] { worker.reset(); });
  }
  void on_control(std::function<void()> fn) { fleet.loops.run_on(1, std::move(fn)); }
  // Polls once more, on a timer of the loop, and waits for what comes of it.
  void poll() {
    const int before = outcomes;
    on_control([&] {
      poller.reset();
      const auto monitor = std::make_shared<const MonitorRef>(MonitorRef{
          .api = &api, .self = this, .name = "unruly", .instance = {}, .faults = &faults_of});
      poller = std::make_unique<LoadPoller>(fleet.loops.control(), *fleet.registry, *this, config,
                                            std::vector<MonitorPtr>{monitor});
      poller->fleet_changed();
    });
    while (outcomes == before) std::this_thread::yield();
    on_control([] {});
  }
  bool report(const std::shared_ptr<Worker>&, const LoadReport&, std::string_view) override {
    ++reports;
    if (on_report) on_report();
    ++outcomes;
    return true;
  }
  bool judge(const std::shared_ptr<Worker>&, const LoadReport&) override { return true; }
  void reset(const std::shared_ptr<Worker>&) override {}
  void no_report(const std::shared_ptr<Worker>&, std::uint32_t why, std::string_view words,
                 std::string_view) override {
    cause = why;
    detail = words;
    ++outcomes;
  }

  FaultMeter faults_of;
  test::RegistryBench fleet;
  Config config;
  smg_monitor_api api{};
  std::shared_ptr<Worker> worker;
  std::unique_ptr<LoadPoller> poller;
  std::function<void(std::uint64_t, smg_poll_done)> answer;
  std::function<void()> on_report;
  int matched = 0, polled = 0, detached = 0, detached_inside = 0, reports = 0;
  bool inside = false;
  std::atomic<int> outcomes{0};
  std::uint32_t cause = 0;
  std::string detail;
};

const smg_load_report kEmpty{sizeof(smg_load_report), 0, nullptr, 0, 0, {}, 0, 0};

}  // namespace

TEST_CASE_FIXTURE(Bench, "a poll that is answered twice counts once") {
  answer = [](std::uint64_t ticket, smg_poll_done done) {
    done(ticket, &kEmpty, 0, {});
    done(ticket, &kEmpty, 0, {});
    done(ticket, nullptr, SMG_NO_REPORT_ERROR, {});
  };
  poll();
  CHECK(reports == 1);
  CHECK(faults("unruly", Fault::late_answer) == 2);
}

TEST_CASE_FIXTURE(Bench, "an answer on a foreign thread is none") {
  answer = [&](std::uint64_t ticket, smg_poll_done done) {
    std::thread([&] { done(ticket, &kEmpty, 0, {}); }).join();
    CHECK(reports == 0);
    done(ticket, nullptr, SMG_NO_REPORT_EMPTY, {});
  };
  poll();
  CHECK(cause == SMG_NO_REPORT_EMPTY);
  CHECK(faults("unruly", Fault::wrong_thread) == 1);
}

TEST_CASE_FIXTURE(Bench, "a poll that throws, or is answered with nonsense, brings no report") {
  answer = [](std::uint64_t, smg_poll_done) { throw std::runtime_error("no"); };
  poll();
  CHECK(cause == SMG_NO_REPORT_ERROR);
  CHECK(faults("unruly", Fault::exception) == 1);
  smg_load_report endless = kEmpty;
  endless.rank_count = ~0u;
  answer = [&](std::uint64_t ticket, smg_poll_done done) { done(ticket, &endless, 0, {}); };
  poll();
  CHECK(cause == SMG_NO_REPORT_MALFORMED);
  answer = [&](std::uint64_t ticket, smg_poll_done done) { done(ticket, nullptr, 99, {}); };
  poll();
  CHECK(cause == SMG_NO_REPORT_MALFORMED);
  answer = [&](std::uint64_t ticket, smg_poll_done done) {
    done(ticket, nullptr, SMG_NO_REPORT_EMPTY, {nullptr, 7});
  };
  poll();
  CHECK(cause == SMG_NO_REPORT_MALFORMED);
  CHECK(reports == 0);
  CHECK(faults("unruly", Fault::bad_call) == 3);
}

TEST_CASE_FIXTURE(Bench, "a fenced source is not asked any more: no report, and why") {
  answer = [](std::uint64_t ticket, smg_poll_done done) { done(ticket, &kEmpty, 0, {}); };
  poll();
  CHECK(polled == 1);
  for (int i = 0; i < 10; ++i) faults_of.count(Fault::late_answer, "x");
  poll();
  CHECK(polled == 1);
  CHECK(matched == 1);
  CHECK(cause == SMG_NO_REPORT_ERROR);
  CHECK(detail.find("unruly is fenced") != std::string::npos);
}

TEST_CASE_FIXTURE(Bench, "a source is never detached inside its own poll") {
  answer = [](std::uint64_t ticket, smg_poll_done done) { done(ticket, &kEmpty, 0, {}); };
  on_report = [&] { poller->evict(*worker); };
  poll();
  CHECK(detached_inside == 0);
  on_control([] {});
  CHECK(detached == 1);
}
