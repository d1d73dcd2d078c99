#include "host/metrics/metrics.hpp"

#include <prometheus/check_names.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

const char* type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kUpDownCounter:
      return "up-down counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "metric of unknown type";
}

std::string joined(const std::vector<std::string>& names) {
  std::string text = "{";
  for (const auto& name : names) {
    if (text.size() > 1) text += ", ";
    text += name;
  }
  return text + "}";
}

std::string bounds_problem(std::span<const double> bounds) {
  if (bounds.size() > Metrics::kMaxBounds) {
    return "has " + std::to_string(bounds.size()) + " buckets; at most " +
           std::to_string(Metrics::kMaxBounds) + " are allowed";
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i])) {
      return "has a bucket bound that is no finite number; +Inf is added by itself";
    }
    if (i > 0 && bounds[i] <= bounds[i - 1]) {
      return "has bucket bounds that do not ascend: " + std::to_string(bounds[i]) + " follows " +
             std::to_string(bounds[i - 1]);
    }
  }
  return {};
}

std::string labels_problem(const FamilyDescriptor& descriptor) {
  for (std::size_t i = 0; i < descriptor.label_count(); ++i) {
    const std::string label(descriptor.labels[i]);
    if (!prometheus::CheckLabelName(label) ||
        (descriptor.type == MetricType::kHistogram && label == "le")) {
      return "has a label named '" + label +
             "'; label names are [a-zA-Z_][a-zA-Z0-9_]*, do not begin with two underscores, and "
             "are not 'le' in a histogram";
    }
    const auto end = descriptor.labels.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(descriptor.labels.begin(), end, descriptor.labels[i]) != end) {
      return "names the label '" + label + "' twice";
    }
  }
  return {};
}

}  // namespace

void Series::observe(double value) const {
  if (data_ == nullptr || std::isnan(value)) return;
  assert(data_->type == MetricType::kHistogram);
  const auto& bounds = data_->bounds;
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  const std::uint32_t slot = own_slot();
  detail::Cell* cells = data_->cells[slot];
  detail::bump(cells[bucket], 1, slot != 0);
  detail::bump(cells[bounds.size() + 1], value, slot != 0);
}

double Series::value() const {
  if (data_ == nullptr) return 0;
  if (data_->type != MetricType::kHistogram) return data_->sum(0);
  double count = 0;
  for (std::size_t i = 0; i <= data_->bounds.size(); ++i) count += data_->sum(i);
  return count;
}

Family::Family(Metrics& metrics, const FamilyDescriptor& descriptor, std::vector<double> bounds)
    : metrics_(metrics),
      name_(descriptor.name),
      help_(valid_utf8(descriptor.help)),
      type_(descriptor.type),
      bounds_(std::move(bounds)) {
  // The text format knows no line breaks in a help text.
  std::replace(help_.begin(), help_.end(), '\n', ' ');
  for (std::size_t i = 0; i < descriptor.label_count(); ++i) {
    labels_.emplace_back(descriptor.labels[i]);
  }
}

Series Family::with(std::span<const std::string_view> values) {
  if (values.size() != labels_.size()) {
    throw std::invalid_argument("metric " + name_ + " has the labels " + joined(labels_) +
                                " and was given " + std::to_string(values.size()) + " values");
  }
  const std::lock_guard lock(metrics_.mutex_);
  std::vector<std::string> checked;
  std::string key;
  for (std::size_t i = 0; i < values.size(); ++i) {
    checked.push_back(metrics_.label_value(labels_[i], values[i]));
    key += std::to_string(checked.back().size()) + ":" + checked.back();
  }
  if (const auto found = by_values_.find(key); found != by_values_.end()) {
    return Series(found->second);
  }

  auto data = std::make_unique<detail::SeriesData>();
  data->type = type_;
  data->slots =
      type_ == MetricType::kGauge ? 1 : static_cast<std::uint32_t>(metrics_.arenas_.size());
  data->cells = std::make_unique<detail::Cell*[]>(data->slots);
  data->bounds = bounds_;
  data->label_values = std::move(checked);
  const std::size_t width = type_ == MetricType::kHistogram ? bounds_.size() + 2 : 1;
  for (std::uint32_t slot = 0; slot < data->slots; ++slot) {
    data->cells[slot] = metrics_.allocate(metrics_.arenas_[slot], width);
  }
  const detail::SeriesData* stable = data.get();
  series_.push_back(std::move(data));
  by_values_.emplace(std::move(key), stable);
  return Series(stable);
}

Metrics::Metrics(MetricsOptions options) : options_(std::move(options)) {
  if (const auto problem = bounds_problem(options_.duration_bounds); !problem.empty()) {
    throw std::logic_error("the list of duration buckets " + problem);
  }
  arenas_.resize(options_.loops + std::size_t{1});
}

Metrics::~Metrics() = default;

Family* Metrics::family(const FamilyDescriptor& descriptor, std::string& error) {
  const std::string name(descriptor.name);
  if (!prometheus::CheckMetricName(name)) {
    error = "'" + name +
            "' is no metric name: names are [a-zA-Z_:][a-zA-Z0-9_:]* and do not begin "
            "with two underscores";
    return nullptr;
  }
  std::vector<double> bounds;
  std::string problem = labels_problem(descriptor);
  if (descriptor.type == MetricType::kHistogram) {
    bounds.assign(descriptor.bounds.begin(), descriptor.bounds.end());
    if (bounds.empty()) bounds = options_.duration_bounds;
    if (problem.empty()) problem = bounds_problem(bounds);
  } else if (!descriptor.bounds.empty() && problem.empty()) {
    problem = "is no histogram and must have no bucket bounds";
  }
  if (!problem.empty()) {
    error = "metric " + name + " " + problem;
    return nullptr;
  }

  auto candidate = std::unique_ptr<Family>(new Family(*this, descriptor, std::move(bounds)));
  const std::lock_guard lock(mutex_);
  auto& present = families_[name];
  if (present == nullptr) {
    present = std::move(candidate);
  } else if (present->type_ != candidate->type_ || present->labels_ != candidate->labels_) {
    error = "metric " + name + " is registered already as a " + type_name(present->type_) +
            " with the labels " + joined(present->labels_) + "; it cannot be a " +
            type_name(candidate->type_) + " with the labels " + joined(candidate->labels_);
    return nullptr;
  } else if (present->bounds_ != candidate->bounds_) {
    error = "histogram " + name + " is registered already with other bucket bounds";
    return nullptr;
  }
  return present.get();
}

Family& Metrics::family(const FamilyDescriptor& descriptor) {
  std::string error;
  Family* const result = family(descriptor, error);
  if (result == nullptr) throw std::logic_error(error);
  return *result;
}

Family* Metrics::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = families_.find(name);
  return found == families_.end() ? nullptr : found->second.get();
}

void Metrics::visit(const Visitor& fn) const {
  std::vector<std::pair<const Family*, std::vector<const detail::SeriesData*>>> all;
  {
    const std::lock_guard lock(mutex_);
    all.reserve(families_.size());
    for (const auto& [name, family] : families_) {
      auto& series =
          all.emplace_back(family.get(), std::vector<const detail::SeriesData*>{}).second;
      series.reserve(family->series_.size());
      for (const auto& one : family->series_) series.push_back(one.get());
    }
  }
  for (const auto& [family, series] : all) fn(*family, series);
}

detail::Cell* Metrics::allocate(Arena& arena, std::size_t count) {
  if (arena.used + count > kChunkCells) {
    arena.chunks.push_back(std::make_unique<Chunk>());
    arena.used = 0;
  }
  detail::Cell* const cells = arena.chunks.back()->cells.data() + arena.used;
  arena.used += count;
  return cells;
}

std::string Metrics::label_value(const std::string& label, std::string_view value) {
  std::string checked = valid_utf8(value, kMaxLabelValue);
  if (!options_.capped_labels.contains(label)) return checked;
  auto& seen = capped_seen_[label];
  if (seen.contains(checked)) return checked;
  if (seen.size() >= options_.capped_values) return "other";
  seen.insert(checked);
  return checked;
}

}  // namespace smg
