// Metrics in the words of prometheus-cpp, and from there as text.
#pragma once

#include <prometheus/collectable.h>

#include <string>
#include <vector>

#include "host/metrics/metrics.hpp"

namespace smg {

// Any thread. Families without a series are left out. REQUIRES: `metrics` outlives it.
class MetricsCollectable final : public prometheus::Collectable {
 public:
  explicit MetricsCollectable(const Metrics& metrics) : metrics_(metrics) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Metrics& metrics_;
};

// The text format, version 0.0.4.
std::string exposition_text(const Metrics& metrics);

}  // namespace smg
