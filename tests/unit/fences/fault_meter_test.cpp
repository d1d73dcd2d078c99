#include "host/plugin/fault_meter.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "fixture.hpp"

using namespace smg;
using smg::test::Fixture;
using smg::test::kSecond;

TEST_CASE_FIXTURE(Fixture,
                  "faults are counted by plugin and kind, and the last one is remembered") {
  FaultMeter meter(services, "policy.p");
  CHECK(meter.last().text.empty());
  meter.count(Fault::selection, "no such index");
  meter.count(Fault::selection, "no such index");
  meter.count(Fault::wrong_thread, "not here\xff");
  CHECK(faults("p", Fault::selection) == 2);
  CHECK(faults("p", Fault::wrong_thread) == 1);
  CHECK(faults("p", Fault::exception) == 0);
  CHECK(meter.total() == 3);
  CHECK(meter.last().kind == Fault::wrong_thread);
  CHECK(meter.last().text.starts_with("not here"));
  meter.count(Fault::bad_call, std::string(5000, 'x'));
  CHECK(meter.last().text.size() < 300);
}

TEST_CASE_FIXTURE(Fixture, "what is thrown is told with its words") {
  FaultMeter meter(services, "policy.p");
  CHECK_FALSE(guarded(&meter, "select", [] { throw std::runtime_error("out of ideas"); }));
  CHECK(meter.last().text == "select threw out of ideas");
  CHECK_FALSE(guarded(&meter, "select", [] { throw 7; }));
  CHECK(meter.last().text == "select threw something that is no std::exception");
  CHECK(guarded(&meter, "select", [] {}));
  CHECK(faults("p", Fault::exception) == 2);
}

TEST_CASE_FIXTURE(Fixture, "so many faults within the window fence, one less does not") {
  FaultMeter meter(services, "policy.p");
  for (int i = 0; i < 9; ++i) meter.count(Fault::selection, "x");
  CHECK_FALSE(meter.fenced());
  now += 60 * kSecond;
  meter.count(Fault::selection, "x");
  CHECK(meter.fenced());
}

TEST_CASE_FIXTURE(Fixture, "faults that are far enough apart never fence") {
  FaultMeter meter(services, "policy.p");
  for (int i = 0; i < 1000; ++i) {
    meter.count(Fault::selection, "x");
    now += 7 * kSecond;  // 9 of them in 60 s
  }
  CHECK_FALSE(meter.fenced());
  for (int i = 0; i < 9; ++i) meter.count(Fault::selection, "x");
  CHECK(meter.fenced());
}

TEST_CASE_FIXTURE(Fixture, "a limit of one fences at once, a limit of zero never") {
  services.fault_limits.max_faults = 1;
  FaultMeter strict(services, "policy.p");
  strict.count(Fault::selection, "x");
  CHECK(strict.fenced());
  services.fault_limits.max_faults = 0;
  FaultMeter lenient(services, "policy.q");
  for (int i = 0; i < 1000; ++i) lenient.count(Fault::selection, "x");
  CHECK_FALSE(lenient.fenced());
  CHECK(lenient.total() == 1000);
}

TEST_CASE_FIXTURE(Fixture, "a fence is told once: an error line, an event, a gauge") {
  std::atomic<int> events{0};
  bus.subscribe({.name = "t",
                 .types = SMG_EVENT_MASK(SMG_EVENT_PLUGIN_STATE),
                 .fn =
                     [](void* context, const smg_event* event) {
                       const auto& change = *reinterpret_cast<const smg_event_change*>(event);
                       if (text(change.subject) == "p" &&
                           text(change.text).starts_with("fenced: 10 faults within 60 s")) {
                         ++*static_cast<std::atomic<int>*>(context);
                       }
                     },
                 .context = &events});
  {
    FaultMeter meter(services, "monitor.p");
    CHECK(fenced("monitor", "p") == 0);
    for (int i = 0; i < 100; ++i) meter.count(Fault::late_answer, "twice");
    CHECK(fenced("monitor", "p") == 1);
    CHECK(lines("error monitor.p is fenced: 10 faults within 60 s, the last one: twice") == 1);
    CHECK(lines("warning monitor.p: fault ") == 3);  // 1, 10, 100
  }
  CHECK(fenced("monitor", "p") == 0);
  bus.stop();
  CHECK(events == 1);
}

TEST_CASE_FIXTURE(Fixture, "many threads may count at once: none is lost, the fence comes once") {
  services.fault_limits = {1000, 60 * kSecond};
  FaultMeter meter(services, "transport.p");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        FaultMeter::count_at(meter.number(), Fault::wrong_thread, "here");
        meter.count(Fault::late_call, "there");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(meter.total() == 8000);
  CHECK(faults("p", Fault::wrong_thread) == 4000);
  CHECK(faults("p", Fault::late_call) == 4000);
  CHECK(meter.fenced());
  CHECK(lines("is fenced") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a number names its meter while it lives, and nobody else afterwards") {
  FaultMeter strays(services, "plugin.unknown");
  strays.take_strays();
  std::uint32_t gone = 0;
  {
    FaultMeter meter(services, "transport.p");
    gone = meter.number();
    REQUIRE(gone != 0);
    FaultMeter::count_at(gone, Fault::late_call, "x");
    CHECK(meter.total() == 1);
  }
  FaultMeter next(services, "transport.q");
  CHECK(next.number() != gone);
  FaultMeter::count_at(gone, Fault::late_call, "x");
  FaultMeter::count_at(4711, Fault::late_call, "x");
  CHECK(next.total() == 0);
  CHECK(strays.total() == 2);
  CHECK(FaultMeter(services, "policy.p").number() == 0);
}
