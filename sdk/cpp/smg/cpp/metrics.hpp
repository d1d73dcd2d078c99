// Prometheus metrics. Get families and series once, in create(); then add, set or observe, which
// takes a few nanoseconds on any thread. Handles are small values, copied freely, valid until
// destroy.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "smg/cpp/host.hpp"

namespace smg {

// One series, say a counter with all its labels given.
class Series {
 public:
  void add(double value = 1) const { table_->add(host_, handle_, value); }      // counter, gauge
  void set(double value) const { table_->set(host_, handle_, value); }          // gauge
  void observe(double value) const { table_->observe(host_, handle_, value); }  // histogram

 private:
  friend class Family;
  Series(const smg_host* host, const smg_metrics_service* table, uint64_t handle)
      : host_(host), table_(table), handle_(handle) {}

  const smg_host* host_;
  const smg_metrics_service* table_;
  uint64_t handle_;
};

// Series of one name that differ in label values.
class Family {
 public:
  // The series with these label values, in the order of the family's labels.
  Series with(std::initializer_list<std::string_view> values) const {
    std::vector<smg_view> views;
    for (const std::string_view value : values) views.push_back(view(value));
    uint64_t series = 0;
    const smg_status status =
        table_->series(host_, handle_, views.data(), static_cast<uint32_t>(views.size()), &series);
    if (status != SMG_OK)
      throw Error(status, "metric series refused: wrong number of label values?");
    return Series(host_, table_, series);
  }

 private:
  friend class Metrics;
  Family(const smg_host* host, const smg_metrics_service* table, uint64_t handle)
      : host_(host), table_(table), handle_(handle) {}

  const smg_host* host_;
  const smg_metrics_service* table_;
  uint64_t handle_;
};

class Metrics {
 public:
  using Labels = std::initializer_list<std::string_view>;

  explicit Metrics(Host host)
      : host_(host.raw()), table_(host.require<smg_metrics_service>(SMG_SERVICE_METRICS)) {}

  Family counter(std::string_view name, std::string_view help, Labels labels = {}) const {
    return family(SMG_METRIC_COUNTER, name, help, labels, {});
  }
  Family gauge(std::string_view name, std::string_view help, Labels labels = {}) const {
    return family(SMG_METRIC_GAUGE, name, help, labels, {});
  }
  // `bounds`: upper bounds, ascending; none: the configured duration buckets.
  Family histogram(std::string_view name, std::string_view help, Labels labels = {},
                   std::span<const double> bounds = {}) const {
    return family(SMG_METRIC_HISTOGRAM, name, help, labels, bounds);
  }

 private:
  Family family(uint32_t type, std::string_view name, std::string_view help, Labels labels,
                std::span<const double> bounds) const {
    std::vector<smg_view> views;
    for (const std::string_view label : labels) views.push_back(view(label));
    uint64_t handle = 0;
    const smg_status status = table_->family(host_, type, view(name), view(help), views.data(),
                                             static_cast<uint32_t>(views.size()), bounds.data(),
                                             static_cast<uint32_t>(bounds.size()), &handle);
    if (status != SMG_OK) {
      throw Error(status,
                  "metric `" + std::string(name) +
                      "` refused: taken with another type or other labels, or no valid name");
    }
    return Family(host_, table_, handle);
  }

  const smg_host* host_;
  const smg_metrics_service* table_;
};

}  // namespace smg
