#include "host/fleet/probes.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

using namespace smg;

namespace {

// A transport that answers probes as the test says, on a loop of its own.
struct Bench : test::Fixture {
  Bench() : faults_of(services, "transport.unruly") {
    api.probe = [](void* handle, const smg_probe*, smg_probe_done done, void* context) {
      static_cast<Bench*>(handle)->answer(done, context);
    };
    transport->api = &api;
    transport->faults = &faults_of;
    probe.struct_size = sizeof probe;
    probe.timeout_ns = 60 * test::kSecond;
    loops.start([](Loop&) {});
  }
  void start() {
    loops.run_on(1, [this] {
      start_probe(endpoint, probe, [this](const smg_probe_result& result) {
        ++answers;
        healthy = result.healthy != 0;
        detail = text(result.detail);
        if (on_answer) on_answer();
      });
    });
  }

  FaultMeter faults_of;
  smg_transport_api api{};
  std::shared_ptr<TransportRef> transport = std::make_shared<TransportRef>();
  Endpoint endpoint{transport, nullptr, nullptr, this};
  smg_probe probe{};
  std::function<void(smg_probe_done, void*)> answer;
  int answers = 0;
  bool healthy = false;
  std::string detail;
  std::function<void()> on_answer;
  LoopGroup loops{1};
};

const smg_probe_result kWell{sizeof(smg_probe_result), 1, {}, {}, nullptr, 0, 0, nullptr};

}  // namespace

TEST_CASE_FIXTURE(Bench, "a probe that is answered twice counts once") {
  answer = [](smg_probe_done done, void* context) {
    done(context, &kWell);
    done(context, &kWell);
  };
  start();
  CHECK(answers == 1);
  CHECK(healthy);
  CHECK(faults("unruly", Fault::late_answer) == 1);
}

TEST_CASE_FIXTURE(Bench,
                  "an answer on a foreign thread is none, the right one still comes through") {
  smg_probe_done done = nullptr;
  void* context = nullptr;
  answer = [&](smg_probe_done fn, void* of) {
    done = fn;
    context = of;
  };
  start();
  std::thread([&] { done(context, &kWell); }).join();
  loops.run_on(0, [&] { done(context, &kWell); });
  CHECK(answers == 0);
  CHECK(faults("unruly", Fault::wrong_thread) == 2);
  loops.run_on(1, [&] { done(context, &kWell); });
  CHECK(answers == 1);
}

TEST_CASE_FIXTURE(Bench,
                  "a probe that throws, or is answered with nonsense, finds the worker unwell") {
  answer = [](smg_probe_done, void*) { throw std::runtime_error("no"); };
  start();
  CHECK(answers == 1);
  CHECK_FALSE(healthy);
  CHECK(faults("unruly", Fault::exception) == 1);
  const auto refuses = [&](const smg_probe_result* result) {
    healthy = true;
    answer = [result](smg_probe_done done, void* context) { done(context, result); };
    start();
    CHECK_FALSE(healthy);
    CHECK(detail.find("cannot be") != std::string::npos);
  };
  smg_probe_result result = kWell;
  refuses(nullptr);
  result.struct_size = 8;
  refuses(&result);
  result = kWell;
  result.model_count = 3;
  refuses(&result);
  const smg_view models[] = {{nullptr, 1}};
  result.models = models;
  result.model_count = ~0u;
  refuses(&result);
  result.model_count = 1;
  refuses(&result);
  result = kWell;
  result.label_count = 1;
  refuses(&result);
  CHECK(answers == 7);
  CHECK(faults("unruly", Fault::bad_call) == 6);
}

TEST_CASE_FIXTURE(Bench, "a probe that is never answered ends, and an answer afterwards is late") {
  smg_probe_done done = nullptr;
  void* context = nullptr;
  answer = [&](smg_probe_done fn, void* of) {
    done = fn;
    context = of;
  };
  probe.timeout_ns = 1;
  std::promise<void> ended;
  on_answer = [&] { ended.set_value(); };
  start();
  ended.get_future().wait();
  CHECK_FALSE(healthy);
  CHECK(faults("unruly", Fault::late_answer) == 1);
  loops.run_on(1, [&] { done(context, &kWell); });
  CHECK(answers == 1);
  CHECK(faults("unruly", Fault::late_answer) == 2);
}
