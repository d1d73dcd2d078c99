// What a plugin may do wrong with the services of the loops, the bus and the fleet.
#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "../host/registry_bench.hpp"
#include "fixture.hpp"
#include "host/fleet/calls.hpp"
#include "host/fleet_service.hpp"
#include "host/loop/loop_service.hpp"

using namespace smg;

namespace {

struct Task : smg_task {
  explicit Task(std::function<void()> fn) : smg_task{}, fn_(std::move(fn)) {
    run = [](smg_task* task) { static_cast<Task*>(task)->fn_(); };
  }

 private:
  std::function<void()> fn_;
};

struct Timer : smg_timer {
  explicit Timer(std::function<void()> fn) : smg_timer{}, fn_(std::move(fn)) {
    fired = [](smg_timer* timer) { static_cast<Timer*>(timer)->fn_(); };
  }

 private:
  std::function<void()> fn_;
};

// Two loops (data and control) and an instance that calls their services.
struct Bench : test::Fixture {
  Bench() : strays(services, "plugin.unknown") {
    strays.take_strays();
    services.loop = &loop_service();
    services.resolve = &resolve_service();
    services.fleet = &fleet_service();
    services.gateway = &desk;
    install_loop_service(&fleet.loops, &resolver);
    desk.control = &fleet.loops.control();
    desk.registry = fleet.registry.get();
    on_control([&] { calls = std::make_unique<Calls>(fleet.loops.control(), *fleet.registry); });
    desk.calls = calls.get();
    context = std::make_unique<HostContext>(services, "monitor.unruly", PluginOptions{});
    host = context->host();
  }
  ~Bench() {
    on_control([&] { calls.reset(); });
    context.reset();
  }
  void on_data(std::function<void()> fn) { fleet.loops.run_on(0, std::move(fn)); }
  void on_control(std::function<void()> fn) { fleet.loops.run_on(1, std::move(fn)); }
  // When it returns, what was posted to the loop before has run.
  void settle(std::uint32_t index) {
    fleet.loops.run_on(index, [] {});
    fleet.loops.run_on(index, [] {});
  }
  double count(Fault kind) { return faults("unruly", kind); }

  test::RegistryBench fleet;
  Resolver resolver{fleet.loops};
  FaultMeter strays;
  FleetDesk desk;
  std::unique_ptr<Calls> calls;
  std::unique_ptr<HostContext> context;
  const smg_host* host = nullptr;
  const smg_loop_service& loop = loop_service();
  const smg_bus_service& events() {
    return *static_cast<const smg_bus_service*>(host->service(host, SMG_SERVICE_BUS));
  }
};

const smg_event kAdded{sizeof(smg_event), SMG_EVENT_WORKER_ADDED, 0, 0, 0, {}};

}  // namespace

TEST_CASE_FIXTURE(Bench, "loop functions on a foreign thread do nothing, and are counted") {
  smg_watch watch{};
  watch.fd = 0;
  watch.ready = [](smg_watch*, std::uint32_t) {};
  Timer timer([] {});
  Task task([] {});
  CHECK(loop.watch(host, &watch) == SMG_E_THREAD);
  loop.unwatch(host, &watch);
  loop.set_timer(host, &timer, 0);
  loop.clear_timer(host, &timer);
  loop.defer(host, &task);
  CHECK(loop.scratch(host).data == nullptr);
  CHECK(loop.current(host) == SMG_LOOP_NONE);
  CHECK(count(Fault::wrong_thread) == 6);
  CHECK(timer.host_link == nullptr);
  CHECK(task.host_next == nullptr);
}

TEST_CASE_FIXTURE(Bench, "watches, timers and tasks that are NULL or empty are refused") {
  smg_watch watch{};
  smg_timer timer{};
  smg_task task{};
  on_data([&] {
    CHECK(loop.watch(host, nullptr) == SMG_E_INVALID);
    CHECK(loop.watch(host, &watch) == SMG_E_INVALID);
    loop.unwatch(host, nullptr);
    loop.set_timer(host, nullptr, 0);
    loop.set_timer(host, &timer, 0);
    loop.clear_timer(host, nullptr);
    loop.defer(host, nullptr);
    loop.defer(host, &task);
  });
  loop.post(host, 0, nullptr);
  loop.post(host, 0, &task);
  loop.post(host, 99, &task);
  CHECK(count(Fault::bad_call) == 11);
}

TEST_CASE_FIXTURE(Bench, "a task that waits already is not queued again, and can be when it ran") {
  int runs = 0;
  Task task([&] { ++runs; });
  on_data([&] {
    loop.post(host, 0, &task);
    loop.post(host, 0, &task);
    loop.post(host, 1, &task);
    loop.defer(host, &task);
  });
  settle(0);
  settle(1);
  CHECK(runs == 1);
  CHECK(count(Fault::bad_call) == 3);
  loop.post(host, 0, &task);
  settle(0);
  CHECK(runs == 2);
  CHECK(count(Fault::bad_call) == 3);
}

TEST_CASE_FIXTURE(Bench, "a watch is set once, and ends on its own loop only") {
  const int fd = eventfd(0, EFD_NONBLOCK);
  smg_watch watch{};
  watch.fd = fd;
  watch.ready = [](smg_watch*, std::uint32_t) {};
  on_data([&] {
    CHECK(loop.watch(host, &watch) == SMG_OK);
    CHECK(loop.watch(host, &watch) == SMG_E_EXISTS);
  });
  on_control([&] { loop.unwatch(host, &watch); });
  CHECK(watch.host_state != 0);
  on_data([&] { loop.unwatch(host, &watch); });
  CHECK(watch.host_state == 0);
  CHECK(count(Fault::bad_call) == 1);
  CHECK(count(Fault::wrong_thread) == 1);
  close(fd);
}

TEST_CASE_FIXTURE(Bench, "what a watch, a timer or a task throws ends there, the loop goes on") {
  const int fd = eventfd(1, EFD_NONBLOCK);
  smg_watch watch{};
  watch.fd = fd;
  watch.ready = [](smg_watch*, std::uint32_t) { throw std::runtime_error("watch"); };
  std::promise<void> after;
  Timer timer([] { throw 1; });
  Timer later([&] { after.set_value(); });
  Task task([] { throw std::runtime_error("task"); });
  Task deferred([] { throw std::runtime_error("deferred"); });
  on_data([&] {
    loop.watch(host, &watch);
    loop.defer(host, &deferred);
    loop.set_timer(host, &timer, 0);
    loop.set_timer(host, &later, Loop::current()->now() + 100'000'000);
  });
  loop.post(host, 0, &task);
  after.get_future().wait();
  on_data([&] { loop.unwatch(host, &watch); });
  CHECK(faults("unknown", Fault::exception) == 4);
  CHECK(lines("a watch, timer or task of ") >= 1);
  close(fd);
}

TEST_CASE_FIXTURE(Bench, "resolve on a foreign thread, or without sense, is answered at once") {
  const smg_resolve_service& service = resolve_service();
  int failures = 0;
  const auto failed = [](void* of, const smg_address*, std::uint32_t found, smg_view detail) {
    if (found == 0 && detail.size > 0) ++*static_cast<int*>(of);
  };
  CHECK(service.resolve(host, view("localhost"), 80, failed, &failures) == 0);
  CHECK(failures == 1);
  CHECK(count(Fault::wrong_thread) == 1);
  on_data([&] {
    CHECK(service.resolve(host, {nullptr, 9}, 80, failed, &failures) == 0);
    CHECK(service.resolve(host, {"x", ~0ull}, 80, failed, &failures) == 0);
    CHECK(service.resolve(host, view("127.0.0.1"), 80, nullptr, nullptr) == 0);
    const auto throws = [](void*, const smg_address*, std::uint32_t, smg_view) { throw 1; };
    CHECK(service.resolve(host, view("127.0.0.1"), 80, throws, nullptr) == 0);
  });
  CHECK(failures == 3);
  CHECK(count(Fault::bad_call) == 3);
  CHECK(count(Fault::exception) == 1);
  service.cancel(host, 1);
  CHECK(count(Fault::wrong_thread) == 2);
}

TEST_CASE_FIXTURE(Bench, "an event function may end its subscription, subscribe, and throw") {
  struct Heard {
    Bench* bench;
    std::uint64_t id = 0;
    std::promise<void> known;
    std::promise<void> second;
    int calls = 0;
  } heard{this, 0, {}, {}, 0};
  heard.id = events().subscribe(
      host, SMG_EVENT_MASK(SMG_EVENT_WORKER_ADDED),
      [](void* of, const smg_event*) {
        auto& self = *static_cast<Heard*>(of);
        ++self.calls;
        self.known.get_future().wait();
        self.bench->events().unsubscribe(self.bench->host, self.id);
        self.bench->events().subscribe(
            self.bench->host, SMG_EVENT_MASK(SMG_EVENT_WORKER_REMOVED),
            [](void* to, const smg_event*) { static_cast<Heard*>(to)->second.set_value(); }, of);
        throw std::runtime_error("enough");
      },
      &heard);
  heard.known.set_value();
  events().publish(host, &kAdded);
  events().publish(host, &kAdded);
  auto second = heard.second.get_future();
  const smg_event removed{sizeof(smg_event), SMG_EVENT_WORKER_REMOVED, 0, 0, 0, {}};
  while (second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    if (count(Fault::exception) > 0) {
      events().publish(host, &removed);
      second.wait();
      break;
    }
  }
  bus.stop();
  CHECK(heard.calls == 1);
  CHECK(count(Fault::exception) == 1);
}

TEST_CASE_FIXTURE(Bench, "events that cannot be reach nobody") {
  std::atomic<int> heard{0};
  events().subscribe(
      host, SMG_EVENT_MASK_ALL,
      [](void* of, const smg_event*) { ++*static_cast<std::atomic<int>*>(of); }, &heard);
  events().publish(host, nullptr);
  smg_event head = kAdded;
  head.type = 77;
  events().publish(host, &head);
  head = kAdded;
  head.struct_size = 4;
  events().publish(host, &head);
  head = kAdded;
  head.worker_url = {"x", 1ull << 40};
  events().publish(host, &head);
  smg_event_load load{};
  load.event = {sizeof load, SMG_EVENT_LOAD_REPORT, 0, 0, 0, {}};
  load.report = {sizeof(smg_load_report), ~0u, nullptr, 8, 0, {}, 0, 0};
  events().publish(host, &load.event);
  smg_rank_load rank{};
  rank.struct_size = sizeof rank;
  load.report.ranks = &rank;
  events().publish(host, &load.event);
  load.report.rank_count = 1;
  load.report.rank_stride = ~0ull;
  events().publish(host, &load.event);
  load.report.rank_stride = sizeof rank;
  rank.disagg_mode = {"x", 1ull << 40};
  events().publish(host, &load.event);
  smg_event_kv kv{};
  kv.event = {sizeof kv, SMG_EVENT_KV_BLOCKS, 0, 0, 0, {}};
  kv.block_count = 1ull << 60;
  events().publish(host, &kv.event);
  CHECK(count(Fault::bad_call) == 9);
  CHECK(events().subscribe(host, SMG_EVENT_MASK_ALL, nullptr, nullptr) == 0);
  CHECK(count(Fault::bad_call) == 10);
  rank.disagg_mode = view("prefill");
  events().publish(host, &load.event);
  bus.stop();
  // The one that is right, and what was told of the fence after ten faults.
  CHECK(heard == 2);
}

TEST_CASE_FIXTURE(Bench, "fleet calls off the control thread, or without sense, are refused") {
  const smg_fleet_service& service = fleet_service();
  smg_call call{};
  call.struct_size = sizeof call;
  call.method = view("GET");
  call.path = view("/x");
  const auto done = [](void* of, const smg_call_result*) { ++*static_cast<int*>(of); };
  int answers = 0;
  CHECK(service.call(host, 1, &call, done, &answers) == 0);
  service.cancel_call(host, 1);
  on_data([&] { CHECK(service.call(host, 1, &call, done, &answers) == 0); });
  CHECK(count(Fault::wrong_thread) == 3);
  on_control([&] {
    CHECK(service.call(host, 1, nullptr, done, &answers) == 0);
    CHECK(service.call(host, 1, &call, nullptr, nullptr) == 0);
    call.header_count = ~0u;
    CHECK(service.call(host, 1, &call, done, &answers) == 0);
    call.header_count = 0;
    call.body = {nullptr, 1};
    CHECK(service.call(host, 1, &call, done, &answers) == 0);
    call.body = {};
    CHECK(service.call(host, 1, &call, done, &answers) != 0);  // of a worker that is not there
    const auto throws = [](void*, const smg_call_result*) { throw 1; };
    CHECK(service.call(host, 1, &call, throws, nullptr) != 0);
  });
  settle(1);
  CHECK(count(Fault::bad_call) == 4);
  CHECK(answers == 1);
  CHECK(count(Fault::exception) == 1);
}

TEST_CASE_FIXTURE(Bench, "load reports that cannot be are refused before they are read") {
  const smg_fleet_service& service = fleet_service();
  service.report(host, 1, nullptr);
  smg_load_report report{sizeof report, ~0u, nullptr, sizeof(smg_rank_load), 0, {}, 0, 0};
  service.report(host, 1, &report);
  smg_rank_load rank{};
  report.ranks = &rank;
  service.report(host, 1, &report);
  report.rank_count = 1;
  report.rank_stride = 1ull << 50;
  service.report(host, 1, &report);
  report.rank_stride = 1;
  service.report(host, 1, &report);
  service.connection_failed(host, 1, {nullptr, 77}, {});
  CHECK(count(Fault::bad_call) == 6);
}
