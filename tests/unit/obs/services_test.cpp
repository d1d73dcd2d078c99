#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <sstream>

#include "host/base/views.hpp"
#include "host/metrics/exposition.hpp"
#include "host/plugin/instance.hpp"
#include "host/plugin/registry.hpp"

using smg::Bus;
using smg::HostContext;
using smg::HostServices;
using smg::Metrics;
using smg::PluginInstance;
using smg::PluginOptions;
using smg::text;
using smg::view;

namespace {

struct Fixture {
  Fixture() {
    services = HostServices::basic();
    services.now = [] { return std::uint64_t{1234}; };
    services.unix_ms = [] { return std::uint64_t{5678}; };
    services.logger = std::make_shared<spdlog::logger>(
        "t", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
    services.logger->set_pattern("%l %v");
    services.metrics = &metrics;
    services.bus = &bus;
  }

  template <typename Service>
  static const Service& service(const HostContext& context, const char* id) {
    const auto* const found =
        static_cast<const Service*>(context.host()->service(context.host(), id));
    REQUIRE(found != nullptr);
    CHECK(found->struct_size == sizeof(Service));
    return *found;
  }

  std::ostringstream log;
  Metrics metrics{{.loops = 1}};
  Bus bus{[] { return std::uint64_t{1}; }};
  HostServices services;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "services are asked for by name, those that are not there are NULL") {
  const HostContext context(services, "policy.t", {});
  const auto* const host = context.host();
  CHECK(host->struct_size == sizeof(smg_host));
  CHECK(host->service(host, "smg.nonsense/0") == nullptr);
  CHECK(host->service(host, nullptr) == nullptr);
  CHECK(host->service(host, SMG_SERVICE_LOOP) == nullptr);
  const HostContext bare(HostServices::basic(), "policy.t", {});
  CHECK(bare.host()->service(bare.host(), SMG_SERVICE_BUS) == nullptr);
  CHECK(bare.host()->service(bare.host(), SMG_SERVICE_METRICS) == nullptr);
  const auto& clock = service<smg_clock_service>(bare, SMG_SERVICE_CLOCK);
  const std::uint64_t before = clock.now(bare.host());
  CHECK(before <= clock.now(bare.host()));
  CHECK(clock.unix_ms(bare.host()) > 1'600'000'000'000u);
}

TEST_CASE_FIXTURE(Fixture, "log lines name the instance and stay one line") {
  const HostContext context(services, "policy.t", {});
  const auto& table = service<smg_log_service>(context, SMG_SERVICE_LOG);
  table.write(context.host(), SMG_LOG_WARN, view("one\ntwo\t{}\xff"));
  table.write(context.host(), SMG_LOG_DEBUG, view("not shown"));
  CHECK(log.str() == "warning policy.t: one two {}\xef\xbf\xbd\n");
  CHECK(table.enabled(context.host(), SMG_LOG_DEBUG) == 0);
  CHECK(table.enabled(context.host(), SMG_LOG_ERROR) == 1);
}

TEST_CASE_FIXTURE(Fixture, "time comes from the host") {
  const HostContext context(services, "policy.t", {});
  const auto& table = service<smg_clock_service>(context, SMG_SERVICE_CLOCK);
  CHECK(table.now(context.host()) == 1234);
  CHECK(table.unix_ms(context.host()) == 5678);
}

TEST_CASE_FIXTURE(Fixture, "options are read by name and type") {
  const HostContext context(services, "policy.t",
                            {{"on", true},
                             {"count", std::int64_t{-3}},
                             {"ratio", 0.5},
                             {"mode", std::string("fast")},
                             {"list", std::vector<std::string>{"a", "b"}},
                             {"none", std::vector<std::string>{}}});
  const auto* const host = context.host();
  const auto& table = service<smg_options_service>(context, SMG_SERVICE_OPTIONS);
  std::uint32_t on = 0;
  std::int64_t count = 0;
  double ratio = 0;
  smg_view mode{};
  const smg_view* list = nullptr;
  std::uint32_t size = 9;
  CHECK(table.get_bool(host, view("on"), &on) == SMG_OK);
  CHECK(on == 1);
  CHECK(table.get_int(host, view("count"), &count) == SMG_OK);
  CHECK(count == -3);
  CHECK(table.get_float(host, view("ratio"), &ratio) == SMG_OK);
  CHECK(ratio == 0.5);
  CHECK(table.get_string(host, view("mode"), &mode) == SMG_OK);
  CHECK(text(mode) == "fast");
  REQUIRE(table.get_list(host, view("list"), &list, &size) == SMG_OK);
  REQUIRE(size == 2);
  CHECK(text(list[1]) == "b");
  CHECK(table.get_list(host, view("none"), &list, &size) == SMG_OK);
  CHECK(size == 0);
  CHECK(table.get_int(host, view("absent"), &count) == SMG_E_NOT_FOUND);
  CHECK(table.get_int(host, view("mode"), &count) == SMG_E_INVALID);
  CHECK(table.get_list(host, view("mode"), &list, &size) == SMG_E_INVALID);
  CHECK(count == -3);
}

TEST_CASE_FIXTURE(Fixture, "a plugin registers metrics and changes them by handle") {
  const HostContext context(services, "policy.t", {});
  const auto* const host = context.host();
  const auto& table = service<smg_metrics_service>(context, SMG_SERVICE_METRICS);
  const smg_view label = view("branch");
  const smg_view value = view("hit");
  std::uint64_t counter = 0;
  std::uint64_t series = 0;
  REQUIRE(table.family(host, SMG_METRIC_COUNTER, view("p_total"), view("h"), &label, 1, nullptr, 0,
                       &counter) == SMG_OK);
  REQUIRE(table.series(host, counter, &value, 1, &series) == SMG_OK);
  table.add(host, series, 2);
  table.set(host, series, 99);      // no gauge
  table.observe(host, series, 99);  // no histogram
  table.add(host, 0, 1);
  std::uint64_t gauge = 0;
  REQUIRE(table.family(host, SMG_METRIC_GAUGE, view("p_level"), view("h"), nullptr, 0, nullptr, 0,
                       &gauge) == SMG_OK);
  REQUIRE(table.series(host, gauge, nullptr, 0, &series) == SMG_OK);
  table.set(host, series, 5);
  table.add(host, series, -1);
  const double bounds[] = {1, 2};
  std::uint64_t histogram = 0;
  REQUIRE(table.family(host, SMG_METRIC_HISTOGRAM, view("p_sizes"), view("h"), nullptr, 0, bounds,
                       2, &histogram) == SMG_OK);
  REQUIRE(table.series(host, histogram, nullptr, 0, &series) == SMG_OK);
  table.observe(host, series, 1.5);
  table.add(host, series, 1);  // no counter
  const auto shown = smg::exposition_text(metrics);
  CHECK(shown.find("p_total{branch=\"hit\"} 2\n") != std::string::npos);
  CHECK(shown.find("p_level 4\n") != std::string::npos);
  CHECK(shown.find("p_sizes_count 1\n") != std::string::npos);

  std::uint64_t again = 0;
  CHECK(table.family(host, SMG_METRIC_COUNTER, view("p_total"), view("h"), &label, 1, nullptr, 0,
                     &again) == SMG_OK);
  CHECK(again == counter);
  CHECK(table.family(host, SMG_METRIC_GAUGE, view("p_total"), view("h"), &label, 1, nullptr, 0,
                     &again) == SMG_E_EXISTS);
  CHECK(log.str().find("policy.t: metric p_total is registered already") != std::string::npos);
  CHECK(table.family(host, 7, view("x"), view("h"), nullptr, 0, nullptr, 0, &again) ==
        SMG_E_INVALID);
  CHECK(table.family(host, SMG_METRIC_COUNTER, view("9"), view("h"), nullptr, 0, nullptr, 0,
                     &again) == SMG_E_INVALID);
  const smg_view many[9] = {};
  CHECK(table.family(host, SMG_METRIC_COUNTER, view("x"), view("h"), many, 9, nullptr, 0, &again) ==
        SMG_E_LIMIT);
  CHECK(table.series(host, counter, nullptr, 0, &series) == SMG_E_INVALID);
  CHECK(table.series(host, 0, nullptr, 0, &series) == SMG_E_NOT_FOUND);
}

TEST_CASE_FIXTURE(Fixture, "subscriptions of an instance are its own and end with it") {
  int heard = 0;
  const auto hear = [](void* context, const smg_event*) { ++*static_cast<int*>(context); };
  const smg_event event{sizeof(smg_event), SMG_EVENT_WORKER_ADDED, 0, 0, 0, {}};
  {
    const HostContext context(services, "policy.t", {});
    const HostContext other(services, "policy.u", {});
    const auto& table = service<smg_bus_service>(context, SMG_SERVICE_BUS);
    const auto id = table.subscribe(context.host(), SMG_EVENT_MASK_ALL, hear, &heard);
    CHECK(id != 0);
    CHECK(table.subscribe(context.host(), SMG_EVENT_MASK_ALL, nullptr, nullptr) == 0);
    table.unsubscribe(other.host(), id);  // not its own: no effect
    table.publish(other.host(), &event);
    const smg_event nonsense{sizeof(smg_event), 77, 0, 0, 0, {}};
    table.publish(context.host(), &nonsense);
    CHECK(smg::context_of(context.host()).faults().last().text ==
          "published an event of type 77 and size " + std::to_string(sizeof(smg_event)) +
              ", which cannot be");
    // A second subscriber that hears an event shows that the first one has, as order is kept.
    std::promise<void> second;
    const auto note = [](void* to, const smg_event*) {
      static_cast<std::promise<void>*>(to)->set_value();
    };
    const auto marker =
        table.subscribe(other.host(), SMG_EVENT_MASK(SMG_EVENT_WORKER_REMOVED), note, &second);
    const smg_event last{sizeof(smg_event), SMG_EVENT_WORKER_REMOVED, 0, 0, 0, {}};
    table.publish(other.host(), &last);
    second.get_future().wait();
    table.unsubscribe(other.host(), marker);
    table.unsubscribe(context.host(), id);
    CHECK(heard == 2);
    table.subscribe(context.host(), SMG_EVENT_MASK_ALL, hear, &heard);
  }
  bus.publish(event);
  bus.stop();
  CHECK(heard == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "an instance is created with its options and destroyed with the object") {
  std::string error;
  const auto run_dir = smg::RunDir::make({}, error);
  REQUIRE_MESSAGE(run_dir != nullptr, error);
  smg::PluginRegistry registry(*run_dir);
  const std::vector<std::string> paths{std::string(SMG_TEST_PLUGINS) + "/good.so"};
  REQUIRE(registry.load_all(paths).empty());
  const auto plugin = registry.find(SMG_KIND_POLICY, "sample");

  auto instance =
      PluginInstance::create(plugin, services, {{"mode", std::string("fast")}}, nullptr, error);
  REQUIRE_MESSAGE(instance != nullptr, error);
  smg_worker_live up{};
  up.state = SMG_STATUS_READY;
  smg_worker_live down{};
  const smg_worker_live* live[] = {&down, &up};
  smg_pool pool{};
  pool.struct_size = sizeof(pool);
  pool.count = 2;
  pool.live = live;
  std::uint32_t index = 9;
  const smg_policy_request request{};
  CHECK(instance->policy().select(instance->self(), &request, &pool, &index) == SMG_OK);
  CHECK(index == 1);
  // It subscribed and leaves that to the host.
  const smg_event event{sizeof(smg_event), SMG_EVENT_WORKER_ADDED, 0, 0, 0, {}};
  bus.publish(event);
  instance.reset();
  bus.publish(event);

  CHECK(PluginInstance::create(plugin, services, {{"mode", std::string("fail")}}, nullptr, error) ==
        nullptr);
  CHECK(error == "policy.sample cannot be created: the mode 'fail' always does");
  bus.stop();
}
