#include "host/metrics/exposition.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace smg {
namespace {

prometheus::MetricType exported_type(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kUpDownCounter:
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram read_histogram(const detail::SeriesData& series) {
  prometheus::ClientMetric::Histogram histogram;
  for (std::size_t i = 0; i <= series.bounds.size(); ++i) {
    histogram.sample_count += static_cast<std::uint64_t>(series.sum(i));
    const double bound =
        i < series.bounds.size() ? series.bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = series.sum(series.bounds.size() + 1);
  return histogram;
}

}  // namespace

std::vector<prometheus::MetricFamily> MetricsCollectable::Collect() const {
  std::vector<prometheus::MetricFamily> result;
  metrics_.visit([&](const Family& family, const std::vector<const detail::SeriesData*>& all) {
    if (all.empty()) return;
    prometheus::MetricFamily exported;
    exported.name = family.name();
    exported.help = family.help();
    exported.type = exported_type(family.type());
    exported.metric.reserve(all.size());
    for (const auto* series : all) {
      auto& metric = exported.metric.emplace_back();
      for (std::size_t i = 0; i < family.labels().size(); ++i) {
        metric.label.push_back({family.labels()[i], series->label_values[i]});
      }
      if (exported.type == prometheus::MetricType::Histogram) {
        metric.histogram = read_histogram(*series);
      } else if (exported.type == prometheus::MetricType::Counter) {
        metric.counter.value = series->sum(0);
      } else {
        metric.gauge.value = series->sum(0);
      }
    }
    result.push_back(std::move(exported));
  });
  return result;
}

std::string exposition_text(const Metrics& metrics) {
  return prometheus::TextSerializer().Serialize(MetricsCollectable(metrics).Collect());
}

}  // namespace smg
