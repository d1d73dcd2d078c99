#include "host/metrics/metrics.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "host/metrics/exposition.hpp"
#include "host/metrics/families.hpp"

using smg::exposition_text;
using smg::Families;
using smg::FamilyDescriptor;
using smg::Metrics;
using smg::MetricsOptions;
using smg::MetricType;
using smg::Series;

namespace {

constexpr FamilyDescriptor kCount{"t_total", MetricType::kCounter, "help", {"a", "b"}};
constexpr FamilyDescriptor kModels{"t_models_total", MetricType::kCounter, "help", {"model"}};
constexpr FamilyDescriptor kModelGauge{"t_models", MetricType::kGauge, "help", {"model"}};
constexpr FamilyDescriptor kLevel{"t_level", MetricType::kGauge, "help", {}};
constexpr FamilyDescriptor kRunning{"t_running", MetricType::kUpDownCounter, "help", {}};
constexpr std::array<double, 3> kBounds{1, 2.5, 10};
constexpr FamilyDescriptor kSizes{"t_sizes", MetricType::kHistogram, "help", {}, kBounds};
constexpr FamilyDescriptor kDuration{"t_duration_seconds", MetricType::kHistogram, "help", {}};

bool shows(const Metrics& metrics, const std::string& line) {
  std::istringstream text(exposition_text(metrics));
  for (std::string one; std::getline(text, one);) {
    if (one == line) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the same label values give the same series, other ones another") {
  Metrics metrics({.loops = 2});
  auto& family = metrics.family(kCount);
  CHECK(family.with({"x", "y"}) == family.with({"x", "y"}));
  CHECK_FALSE(family.with({"x", "y"}) == family.with({"y", "x"}));
  CHECK_FALSE(family.with({"1:a", ""}) == family.with({"", "1:a"}));
  CHECK_THROWS_AS(family.with({"x"}), std::invalid_argument);
}

TEST_CASE("a family is shared if it is the same and refused if it is not") {
  Metrics metrics({});
  std::string error;
  auto* const first = metrics.family(kCount, error);
  CHECK(metrics.family(kCount, error) == first);
  FamilyDescriptor other = kCount;
  other.labels = {"a"};
  CHECK(metrics.family(other, error) == nullptr);
  CHECK(error ==
        "metric t_total is registered already as a counter with the labels {a, b}; it cannot be a "
        "counter with the labels {a}");
  CHECK_THROWS_AS(metrics.family(other), std::logic_error);
  CHECK(metrics.find("t_total") == first);
  CHECK(metrics.find("t_other") == nullptr);
}

TEST_CASE("descriptors that Prometheus would not take are refused") {
  Metrics metrics({});
  std::string error;
  const auto refused = [&](const FamilyDescriptor& descriptor, const char* reason) {
    error.clear();
    CHECK(metrics.family(descriptor, error) == nullptr);
    CHECK(error.find(reason) != std::string::npos);
  };
  refused({"1x", MetricType::kCounter, "h"}, "is no metric name");
  refused({"x", MetricType::kCounter, "h", {"a-b"}}, "label named 'a-b'");
  refused({"x", MetricType::kHistogram, "h", {"le"}}, "label named 'le'");
  refused({"x", MetricType::kCounter, "h", {"a", "a"}}, "twice");
  constexpr std::array<double, 2> kFalling{2, 1};
  refused({"x", MetricType::kHistogram, "h", {}, kFalling}, "do not ascend");
  constexpr std::array<double, 1> kInfinite{std::numeric_limits<double>::infinity()};
  refused({"x", MetricType::kHistogram, "h", {}, kInfinite}, "no finite number");
  refused({"x", MetricType::kCounter, "h", {}, kBounds}, "no bucket bounds");
  CHECK(exposition_text(metrics).empty());
}

TEST_CASE("whole numbers are printed exactly") {
  Metrics metrics({});
  auto& family = metrics.family(kCount);
  family.with({"x", "q\"\\\n"}).add(9007199254740991.0);
  family.with({"small", ""}).add();
  CHECK(shows(metrics, R"(t_total{a="x",b="q\"\\\n"} 9007199254740991)"));
  CHECK(shows(metrics, R"(t_total{a="small",b=""} 1)"));
  CHECK(shows(metrics, "# TYPE t_total counter"));
}

TEST_CASE("counters never fall") {
  Metrics metrics({});
  const Series series = metrics.family(kCount).with({"x", "y"});
  series.add(3);
  series.add(-1);
  series.add(std::nan(""));
  CHECK(series.value() == 3);
}

TEST_CASE("a gauge takes set and add, the last writer wins") {
  Metrics metrics({.loops = 1});
  const Series series = metrics.family(kLevel).with({});
  Metrics::bind_thread(0);
  series.set(7);
  series.add(-2);
  Metrics::unbind_thread();
  CHECK(series.value() == 5);
  series.set(-1);
  CHECK(shows(metrics, "t_level -1"));
  CHECK(shows(metrics, "# TYPE t_level gauge"));
}

TEST_CASE("an up-down counter is the sum over the loops") {
  Metrics metrics({.loops = 2});
  const Series series = metrics.family(kRunning).with({});
  Metrics::bind_thread(0);
  series.add(5);
  Metrics::bind_thread(1);
  series.add(-2);
  Metrics::unbind_thread();
  series.add(1);
  CHECK(shows(metrics, "t_running 4"));
  CHECK(shows(metrics, "# TYPE t_running gauge"));
}

TEST_CASE("an observation falls into the first bucket whose bound it does not exceed") {
  Metrics metrics({.loops = 1});
  const Series series = metrics.family(kSizes).with({});
  Metrics::bind_thread(0);
  series.observe(1);
  series.observe(1.5);
  Metrics::unbind_thread();
  series.observe(11);
  series.observe(std::nan(""));
  CHECK(shows(metrics, R"(t_sizes_bucket{le="1"} 1)"));
  CHECK(shows(metrics, R"(t_sizes_bucket{le="2.5"} 2)"));
  CHECK(shows(metrics, R"(t_sizes_bucket{le="10"} 2)"));
  CHECK(shows(metrics, R"(t_sizes_bucket{le="+Inf"} 3)"));
  CHECK(shows(metrics, "t_sizes_count 3"));
  CHECK(shows(metrics, "t_sizes_sum 13.5"));
  CHECK(series.value() == 3);
}

TEST_CASE("histograms without bounds of their own have the duration buckets") {
  Metrics standard({});
  CHECK(standard.family(kDuration).bounds().size() == 29);
  CHECK(standard.family(kDuration).bounds().front() == 0.001);
  CHECK(standard.family(kDuration).bounds().back() == 7200);
  Metrics configured({.duration_bounds = {1, 2}});
  CHECK(configured.family(kDuration).bounds() == std::vector<double>{1, 2});
  CHECK_THROWS_AS(Metrics({.duration_bounds = {2, 1}}), std::logic_error);
}

TEST_CASE("label values of clients are capped, the same ones in every family") {
  Metrics metrics({.capped_values = 2});
  auto& counter = metrics.family(kModels);
  counter.with({"m1"}).add();
  counter.with({"m2"}).add();
  counter.with({"m3"}).add();
  counter.with({"m4"}).add();
  counter.with({"m1"}).add();
  CHECK(counter.with({"m3"}) == counter.with({"other"}));
  CHECK(shows(metrics, R"(t_models_total{model="other"} 2)"));
  CHECK(shows(metrics, R"(t_models_total{model="m1"} 2)"));
  auto& gauge = metrics.family(kModelGauge);
  CHECK(gauge.with({"m3"}) == gauge.with({"other"}));
  CHECK_FALSE(gauge.with({"m2"}) == gauge.with({"other"}));
  // Labels that are not capped are not.
  auto& free = metrics.family(kCount);
  CHECK_FALSE(free.with({"1", ""}) == free.with({"other", ""}));
}

TEST_CASE("the cap of the default options is 1024 values") {
  Metrics metrics({});
  auto& family = metrics.family(kModels);
  const Series other = family.with({"other"});  // counts as one
  for (int i = 1; i < 1024; ++i) CHECK_FALSE(family.with({std::to_string(i)}) == other);
  CHECK(family.with({"1024"}) == other);
}

TEST_CASE("label values are valid UTF-8 and not longer than the limit") {
  Metrics metrics({});
  auto& family = metrics.family(kCount);
  family.with({"\xff", std::string(5000, 'x')}).add();
  const std::string expected =
      "t_total{a=\"\xef\xbf\xbd\",b=\"" + std::string(Metrics::kMaxLabelValue, 'x') + "\"} 1";
  CHECK(shows(metrics, expected));
}

TEST_CASE("families without a series are not shown") {
  Metrics metrics({});
  metrics.family(kCount);
  CHECK(exposition_text(metrics).empty());
}

TEST_CASE("an empty handle ignores everything") {
  const Series none;
  none.add();
  none.set(1);
  none.observe(1);
  CHECK(none.value() == 0);
  CHECK(none.id() == 0);
  CHECK_FALSE(static_cast<bool>(Series::from_id(0)));
}

TEST_CASE("more series than a chunk holds keep their own values") {
  Metrics metrics({.loops = 1});
  auto& counters = metrics.family(kCount);
  const Series histogram = metrics.family(kSizes).with({});
  Metrics::bind_thread(0);
  for (int i = 0; i < 2000; ++i) {
    counters.with({std::to_string(i), ""}).add(i);
    histogram.observe(1);
  }
  Metrics::unbind_thread();
  CHECK(counters.with({"1999", ""}).value() == 1999);
  CHECK(counters.with({"511", ""}).value() == 511);
  CHECK(histogram.value() == 2000);
}

TEST_CASE("loops and other threads count together while a scrape runs") {
  constexpr std::uint32_t kLoops = 3;
  constexpr int kEach = 20000;
  Metrics metrics({.loops = kLoops});
  const Series counter = metrics.family(kCount).with({"x", "y"});
  const Series running = metrics.family(kRunning).with({});
  const Series sizes = metrics.family(kSizes).with({});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kLoops + 2; ++i) {
    threads.emplace_back([&, i] {
      if (i < kLoops) Metrics::bind_thread(i);
      for (int n = 0; n < kEach; ++n) {
        counter.add();
        running.add(1);
        running.add(-1);
        sizes.observe(2);
        if (n % 1000 == 0) metrics.family(kCount).with({std::to_string(n), "z"}).add();
      }
    });
  }
  std::thread scraper([&] {
    double before = 0;
    while (!done) {
      const double now = counter.value();
      CHECK(now >= before);
      before = now;
      CHECK_FALSE(exposition_text(metrics).empty());
    }
  });
  for (auto& thread : threads) thread.join();
  done = true;
  scraper.join();
  CHECK(counter.value() == (kLoops + 2) * kEach);
  CHECK(running.value() == 0);
  CHECK(sizes.value() == (kLoops + 2) * kEach);
  CHECK(metrics.family(kCount).with({"1000", "z"}).value() == kLoops + 2);
}

TEST_CASE("all families of the gateway register, label-less ones are shown as zero") {
  Metrics metrics({.loops = 2});
  Families families(metrics);
  Families again(metrics);
  CHECK(families.http_connections_active == again.http_connections_active);
  CHECK(shows(metrics, "smg_http_connections_active 0"));
  CHECK(shows(metrics, "smg_router_responses_cut_total 0"));
  families.worker_health.with({"http://w:1"}).set(1);
  families.http_inflight_request_age.with({"30", "60"}).add(2);
  CHECK(shows(metrics, R"(smg_worker_health{worker="http://w:1"} 1)"));
  CHECK(shows(metrics, R"(smg_http_inflight_request_age_count{gt="30",le="60"} 2)"));
}
