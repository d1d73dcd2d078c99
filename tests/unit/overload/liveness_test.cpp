// Section 5 of the overload page on a clock that the test moves.
#include "host/fleet/worker_liveness.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace smg;

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;

struct Bench {
  explicit Bench(LivenessBounds bounds = {})
      : liveness(bounds, now, [this](const VetoChange& change) {
          causes.emplace_back(change.cause);
          if (change.reset_breaker) ++resets;
        }) {}

  void wait(std::uint64_t time) { now += time; }
  void check() { liveness.check(now); }
  void contact() { liveness.contact(now); }
  void progress() { liveness.progress(now); }
  void fail() { liveness.connection_failed(now, "load poll"); }
  void dispatch(int count = 1) {
    for (int i = 0; i < count; ++i) liveness.tracked_load(now, 1);
  }
  void finish(int count = 1) {
    for (int i = 0; i < count; ++i) liveness.tracked_load(now, -1);
  }
  void poll(std::int64_t waiting) {
    LivenessEvidence evidence;
    evidence.waiting = waiting;
    liveness.report(now, evidence);
  }
  void record(std::optional<std::uint32_t> silence = {}, bool steps = true,
              std::optional<std::uint32_t> pending = {}) {
    LivenessEvidence evidence;
    evidence.pushed = true;
    evidence.silence_ms = silence;
    evidence.reports_steps = steps;
    evidence.prefill_pending_tokens = pending;
    liveness.report(now, evidence);
  }
  // Two equal responses, two seconds apart.
  void measure(std::uint64_t rate) {
    liveness.first_response(now, rate);
    wait(2 * kSecond);
    liveness.first_response(now, rate);
    REQUIRE(liveness.prefill_rate() == rate);
  }
  std::string_view veto() const { return name_of(liveness.veto()); }

  std::uint64_t now = 1000 * kSecond;
  std::vector<std::string> causes;
  int resets = 0;
  WorkerLiveness liveness;
};

}  // namespace

TEST_CASE("liveness 5.3.1: a failed channel after a silence is unreachable at once") {
  Bench bench;
  bench.wait(2 * kSecond);
  bench.fail();
  CHECK(bench.veto() == "unreachable");
  CHECK(bench.causes == std::vector<std::string>{"load poll"});
  bench.fail();
  CHECK(bench.causes.size() == 1);
}

TEST_CASE("liveness 5.3.2: without a needed silence the first failure is enough") {
  Bench bench({.stall = 0});
  bench.contact();
  bench.fail();
  CHECK(bench.veto() == "unreachable");
}

TEST_CASE("liveness 5.3.3: a failure is forgotten with the next contact") {
  Bench bench;
  bench.contact();
  bench.fail();
  bench.wait(kSecond);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.contact();
  bench.wait(10 * kSecond);
  bench.check();
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.3.3: a remembered failure vetoes at the check that finds the silence") {
  Bench bench;
  bench.contact();
  bench.fail();
  bench.wait(2 * kSecond - 1);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.wait(1);
  bench.check();
  CHECK(bench.veto() == "unreachable");
  CHECK(bench.causes == std::vector<std::string>{"silent since a transport failure"});
}

TEST_CASE("liveness 11.16: a failure soon after registration is remembered, not immediate") {
  Bench bench;
  bench.wait(kSecond);
  bench.fail();
  CHECK(bench.veto() == "none");
  bench.wait(kSecond);
  bench.check();
  CHECK(bench.veto() == "unreachable");
}

TEST_CASE("liveness 5.5.3: the wedge bound covers the prefill in hand, up to 120 s") {
  Bench bench;
  CHECK(bench.liveness.wedge_bound() == 3 * kSecond);
  bench.liveness.prefill_pending(bench.now, 128 * 1152);
  CHECK(bench.liveness.wedge_bound() == 14'745 * kMs);
  bench.liveness.prefill_pending(bench.now, -128 * 1152);
  bench.liveness.prefill_pending(bench.now, 8 * 150);
  CHECK(bench.liveness.wedge_bound() == 3 * kSecond);
  bench.liveness.prefill_pending(bench.now, 100'000'000);
  CHECK(bench.liveness.wedge_bound() == 120 * kSecond);
  bench.liveness.prefill_pending(bench.now, -100'001'200);
  CHECK(bench.liveness.wedge_bound() == 3 * kSecond);

  Bench patient({.wedge = 600 * kSecond});
  CHECK(patient.liveness.wedge_bound() == 600 * kSecond);
  patient.liveness.prefill_pending(patient.now, 100'000'000);
  CHECK(patient.liveness.wedge_bound() == 600 * kSecond);
}

TEST_CASE("liveness 5.5.4: a waiting queue without progress is wedged") {
  Bench bench;
  bench.dispatch();
  bench.wait(3 * kSecond - 1);
  bench.poll(1);
  CHECK(bench.veto() == "none");
  bench.wait(1);
  bench.poll(0);
  CHECK(bench.veto() == "none");
  bench.poll(1);
  CHECK(bench.veto() == "wedged");
  CHECK(bench.causes == std::vector<std::string>{"no progress with a waiting queue"});
}

TEST_CASE("liveness 5.5.4: a queue of others says nothing without a stream of ours") {
  Bench bench;
  bench.wait(60 * kSecond);
  bench.poll(9);
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.5.5: a pile that grows, or is four deep, without progress is wedged") {
  Bench growing;
  growing.dispatch();
  growing.check();
  growing.wait(3 * kSecond);
  growing.check();
  CHECK(growing.veto() == "none");
  growing.dispatch();
  growing.check();
  CHECK(growing.veto() == "wedged");
  CHECK(growing.causes == std::vector<std::string>{"in-flight requests pile up without progress"});

  Bench deep;
  deep.dispatch(4);
  deep.check();
  deep.wait(3 * kSecond);
  deep.check();
  CHECK(deep.veto() == "wedged");
}

TEST_CASE("liveness 5.5.5: a single quiet request is never a pile") {
  Bench bench;
  bench.dispatch();
  bench.check();
  for (int i = 0; i < 240; ++i) {
    bench.wait(250 * kMs);
    bench.check();
  }
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.5.5: a pile still in prefill is given the time it needs") {
  Bench bench;
  bench.dispatch(128);
  bench.liveness.prefill_pending(bench.now, 128 * 1152);
  bench.wait(14'744 * kMs);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.wait(1 * kMs);
  bench.check();
  CHECK(bench.veto() == "wedged");
}

TEST_CASE("liveness 5.5.6: on a wire that reports steps the wedge bound alone counts") {
  Bench bench;
  bench.record(2900);
  CHECK(bench.veto() == "none");
  bench.liveness.prefill_pending(bench.now, 100'000'000);
  bench.record(3000);
  CHECK(bench.veto() == "wedged");
  CHECK(bench.causes ==
        std::vector<std::string>{"the engine reports no output for its in-flight requests"});
}

TEST_CASE("liveness 5.5.6: on a wire of tokens the prefill in hand stretches the silence") {
  Bench bench;
  bench.measure(1536);
  bench.record(3000, false, 18'432);
  bench.record(20'000, false, 18'432);
  bench.record(23'999, false, 18'432);
  CHECK(bench.veto() == "none");
  bench.record(24'000, false, 18'432);
  CHECK(bench.veto() == "wedged");
}

TEST_CASE(
    "liveness 5.5.6: on a wire of tokens, none in hand means the wedge bound, much means 120 s") {
  Bench idle;
  idle.measure(1536);
  idle.record(2999, false, 0);
  CHECK(idle.veto() == "none");
  idle.record(3000, false, 0);
  CHECK(idle.veto() == "wedged");
  Bench busy;
  busy.measure(1536);
  busy.record(119'999, false, 100'000'000);
  CHECK(busy.veto() == "none");
  busy.record(120'000, false, 100'000'000);
  CHECK(busy.veto() == "wedged");
}

TEST_CASE("liveness 5.5.6: on a wire of tokens, no rate or no figure is no evidence") {
  Bench unmeasured;
  unmeasured.record(60'000, false, 0);
  CHECK(unmeasured.veto() == "none");
  Bench no_figure;
  no_figure.measure(1536);
  no_figure.record(60'000, false);
  CHECK(no_figure.veto() == "none");
  Bench no_silence;
  no_silence.measure(1536);
  no_silence.record({}, true);
  CHECK(no_silence.veto() == "none");
}

TEST_CASE("liveness 5.5.6: a gateway with nothing in flight reaches the same verdict") {
  Bench busy;
  Bench idle;
  busy.dispatch(5);
  for (Bench* bench : {&busy, &idle}) bench->record(3000);
  CHECK(busy.veto() == "wedged");
  CHECK(idle.veto() == "wedged");
}

TEST_CASE("liveness 5.5.7: a wedge bound of zero turns all three kinds of evidence off") {
  Bench bench({.wedge = 0});
  bench.dispatch(9);
  bench.wait(600 * kSecond);
  bench.check();
  bench.poll(50);
  bench.record(600'000);
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.5.9: the clock starts with the first stream, not with registration") {
  Bench bench;
  bench.wait(3600 * kSecond);
  bench.dispatch(3);
  bench.check();
  bench.poll(3);
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.5.10: the rate is tokens over the time since the window opened") {
  Bench bench;
  bench.wait(kSecond);
  bench.liveness.first_response(bench.now, 1152);
  CHECK(bench.liveness.prefill_rate() == 0);
  bench.wait(1500 * kMs);
  bench.liveness.first_response(bench.now, 1152);
  CHECK(bench.liveness.prefill_rate() == 1536);
}

TEST_CASE("liveness 5.5.11: what was dropped or brings no count measures nothing") {
  Bench bench;
  bench.liveness.prefill_pending(bench.now, 5000);
  bench.liveness.prefill_pending(bench.now, -5000);
  bench.wait(2 * kSecond);
  bench.liveness.first_response(bench.now, 0);
  CHECK(bench.liveness.prefill_rate() == 0);
  bench.liveness.first_response(bench.now, 700);
  CHECK(bench.liveness.prefill_rate() == 0);
}

TEST_CASE("liveness 11.15: an idle spell closes the open window") {
  Bench bench;
  bench.liveness.prefill_pending(bench.now, 1000);
  bench.liveness.first_response(bench.now, 1000);
  bench.wait(60 * kSecond);
  bench.liveness.prefill_pending(bench.now, 1000);
  bench.wait(500 * kMs);
  bench.liveness.first_response(bench.now, 1000);
  CHECK(bench.liveness.prefill_rate() == 0);
  bench.wait(kSecond);
  bench.liveness.first_response(bench.now, 1000);
  CHECK(bench.liveness.prefill_rate() == 2000);
}

TEST_CASE("liveness 5.5.12: progress clears wedged and unreachable alike") {
  Bench wedged;
  wedged.dispatch(4);
  wedged.wait(3 * kSecond);
  wedged.check();
  REQUIRE(wedged.veto() == "wedged");
  wedged.progress();
  CHECK(wedged.veto() == "none");
  CHECK(wedged.causes.back() == "progress");
  CHECK(wedged.resets == 0);

  Bench gone;
  gone.wait(2 * kSecond);
  gone.fail();
  gone.progress();
  CHECK(gone.veto() == "none");
  CHECK(gone.resets == 1);
}

TEST_CASE("liveness 5.5.13: a record without silence clears what a record armed") {
  Bench bench;
  bench.record(5000);
  REQUIRE(bench.veto() == "wedged");
  bench.record();
  CHECK(bench.veto() == "none");
  CHECK(bench.causes.back() == "engine output resumed");
}

TEST_CASE("liveness 5.5.13: a silent pile of ours keeps the veto that a record would clear") {
  Bench bench;
  bench.dispatch(4);
  bench.wait(3 * kSecond);
  bench.record(5000);
  REQUIRE(bench.veto() == "wedged");
  bench.record();
  CHECK(bench.veto() == "wedged");
  bench.finish(4);
  bench.record();
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.5.14: a fresh dispatch does not clear while the engine reports its silence") {
  Bench bench;
  bench.record(5000);
  bench.dispatch();
  bench.record(5500);
  CHECK(bench.veto() == "wedged");
  bench.check();
  CHECK(bench.veto() == "wedged");
}

TEST_CASE("liveness 5.5.15: contact alone never clears wedged") {
  Bench bench;
  bench.dispatch(4);
  bench.wait(3 * kSecond);
  bench.check();
  bench.contact();
  bench.liveness.contact(bench.now, "probe");
  bench.poll(0);
  CHECK(bench.veto() == "wedged");
}

TEST_CASE(
    "liveness 5.5.16: an empty pile clears at the next check and is armed again by the next") {
  Bench bench;
  bench.dispatch(4);
  bench.wait(3 * kSecond);
  bench.check();
  REQUIRE(bench.veto() == "wedged");
  bench.finish(4);
  CHECK(bench.veto() == "wedged");
  bench.check();
  CHECK(bench.veto() == "none");
  CHECK(bench.causes.back() == "drained");
  bench.dispatch(4);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.wait(3 * kSecond);
  bench.check();
  CHECK(bench.veto() == "wedged");
}

TEST_CASE("liveness 5.5.16: an empty pile does not clear what the engine's record armed") {
  Bench bench;
  bench.record(5000);
  bench.check();
  CHECK(bench.veto() == "wedged");
}

TEST_CASE("liveness 5.5.17: converted to unreachable, contact clears it") {
  Bench bench;
  bench.record(5000);
  REQUIRE(bench.veto() == "wedged");
  bench.wait(2 * kSecond);
  bench.fail();
  CHECK(bench.veto() == "unreachable");
  bench.contact();
  CHECK(bench.veto() == "none");
  CHECK(bench.resets == 1);
}

TEST_CASE("liveness 5.5.17: a wedged worker that goes silent after a failure is unreachable") {
  Bench bench;
  bench.dispatch(4);
  bench.wait(3 * kSecond);
  bench.check();
  bench.contact();
  bench.fail();
  CHECK(bench.veto() == "wedged");
  bench.wait(2 * kSecond);
  bench.check();
  CHECK(bench.veto() == "unreachable");
}

TEST_CASE("liveness 5.6.2: one that pushed records and is silent on every channel is stale") {
  Bench bench;
  bench.record();
  bench.wait(14 * kSecond);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.wait(kSecond);
  bench.check();
  CHECK(bench.veto() == "unreachable");
  CHECK(bench.causes == std::vector<std::string>{"load records stopped"});
}

TEST_CASE(
    "liveness 5.6.2: one that never pushed is not judged by silence, nor with a bound of zero") {
  Bench bench;
  bench.poll(0);
  bench.wait(60 * kSecond);
  bench.check();
  CHECK(bench.veto() == "none");
  Bench off({.stale = 0});
  off.record();
  off.wait(600 * kSecond);
  off.check();
  CHECK(off.veto() == "none");
}

TEST_CASE("liveness 5.6.2: a worker that streams is never stale") {
  Bench bench;
  bench.record();
  for (int i = 0; i < 60; ++i) {
    bench.wait(kSecond);
    bench.progress();
    bench.check();
  }
  CHECK(bench.veto() == "none");
}

TEST_CASE("liveness 5.7.1: any contact clears unreachable in its own path") {
  for (const auto& contact : std::vector<std::function<void(Bench&)>>{
           [](Bench& bench) { bench.contact(); }, [](Bench& bench) { bench.poll(0); },
           [](Bench& bench) { bench.record(); }, [](Bench& bench) { bench.progress(); },
           [](Bench& bench) { bench.liveness.contact(bench.now, "probe"); }}) {
    Bench bench;
    bench.wait(2 * kSecond);
    bench.fail();
    REQUIRE(bench.veto() == "unreachable");
    contact(bench);
    CHECK(bench.veto() == "none");
    CHECK(bench.resets == 1);
  }
}

TEST_CASE("liveness 5.8: a report clears unreachable first, then its evidence is judged") {
  Bench bench;
  bench.dispatch();
  bench.wait(3 * kSecond);
  bench.fail();
  REQUIRE(bench.veto() == "unreachable");
  bench.poll(2);
  CHECK(bench.veto() == "wedged");
  CHECK(bench.causes ==
        std::vector<std::string>{"load poll", "contact", "no progress with a waiting queue"});
  CHECK(bench.resets == 1);
}

TEST_CASE(
    "liveness 11.4: a poll leaves what the last record said, the end of the channel resets it") {
  Bench bench;
  bench.record(5000);
  bench.poll(0);
  CHECK(bench.veto() == "wedged");
  bench.liveness.record_channel_ended();
  bench.poll(0);
  CHECK(bench.veto() == "none");
}

TEST_CASE("other bounds count from the next check on, and keep what is remembered") {
  Bench bench({.stall = 10 * kSecond});
  bench.contact();
  bench.fail();
  bench.wait(3 * kSecond);
  bench.check();
  CHECK(bench.veto() == "none");
  bench.liveness.configure(bench.now, {.stall = 2 * kSecond});
  CHECK(bench.veto() == "none");
  bench.check();
  CHECK(bench.veto() == "unreachable");
}

TEST_CASE("a wider wedge bound takes back the veto that only the old one called for") {
  Bench bench;
  bench.dispatch(4);
  bench.wait(4 * kSecond);
  bench.check();
  REQUIRE(bench.veto() == "wedged");
  bench.liveness.configure(bench.now, {.wedge = 4 * kSecond});
  CHECK(bench.veto() == "wedged");
  bench.liveness.configure(bench.now, {.wedge = 5 * kSecond});
  CHECK(bench.veto() == "none");
  bench.check();
  CHECK(bench.veto() == "none");
  bench.wait(kSecond);
  bench.check();
  CHECK(bench.veto() == "wedged");
}

TEST_CASE("with the wedge rule switched off nobody stays wedged") {
  Bench bench;
  bench.dispatch(1);
  bench.record(60'000);
  REQUIRE(bench.veto() == "wedged");
  bench.liveness.configure(bench.now, {.wedge = 0});
  CHECK(bench.veto() == "none");
  bench.record(60'000);
  CHECK(bench.veto() == "none");
}

TEST_CASE("other bounds do not bring back a worker that is gone") {
  Bench bench;
  bench.wait(2 * kSecond);
  bench.fail();
  REQUIRE(bench.veto() == "unreachable");
  bench.liveness.configure(bench.now, {.stall = 60 * kSecond, .wedge = 0});
  CHECK(bench.veto() == "unreachable");
  bench.contact();
  CHECK(bench.veto() == "none");
}
