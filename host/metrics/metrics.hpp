// Counters, gauges and histograms, made to be changed on the data path and read at a scrape.
//
// Families and series are registered under a lock (slow: look a series up once and keep it). A
// Series is a pointer-sized handle, valid as long as the Metrics it came from. Each loop thread
// owns a cell of its own in every series, in memory that no other loop writes to, so that a change
// is a plain load, add and store. All other threads share one cell per series and change it
// atomically. A scrape adds the cells up.
//
// Values are doubles: whole numbers are exact up to 2^53. Nothing is ever removed; a series whose
// subject is gone is set to a sentinel value. Label values are made valid UTF-8 and cut at
// kMaxLabelValue bytes.
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smg {

enum class MetricType : std::uint8_t {
  kCounter,        // add() of what is not negative
  kUpDownCounter,  // add() only, per-loop cells; shown as a gauge
  kGauge,          // set(), or add() on the same shared cell; the last writer wins
  kHistogram,      // observe()
};

struct FamilyDescriptor {
  static constexpr std::size_t kMaxLabels = 8;

  std::string_view name;
  MetricType type = MetricType::kCounter;
  std::string_view help;
  std::array<std::string_view, kMaxLabels> labels{};  // the first empty one ends the list
  std::span<const double> bounds{};  // upper, ascending; none: the duration buckets of the options

  constexpr std::size_t label_count() const {
    std::size_t count = 0;
    while (count < kMaxLabels && !labels[count].empty()) ++count;
    return count;
  }
};

struct MetricsOptions {
  std::uint32_t loops = 0;  // loop threads that will call bind_thread(0 .. loops - 1)
  std::vector<double> duration_bounds = {
      0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,    2.5,  5,    10,   15,   30,  45,
      60,    90,    120,  180,   240,  300, 480,  900, 1200, 1800, 2700, 3600, 5400, 7200};
  // Labels whose values clients choose: the first `capped_values` distinct ones are kept, those
  // that come later are shown as `other`. One list of values per label name, so that every family
  // shows the same ones.
  std::set<std::string, std::less<>> capped_labels = {"model", "tool_name", "tenant"};
  std::size_t capped_values = 1024;
};

class Metrics;
class Family;

namespace detail {

using Cell = std::atomic<double>;

// 0: not a loop thread; else the index of the loop plus one.
inline constinit thread_local std::uint32_t t_metrics_slot = 0;

struct SeriesData {
  MetricType type;
  std::uint32_t slots;             // 1 for gauges: the shared cell alone
  std::unique_ptr<Cell*[]> cells;  // [slot]; histograms: buckets, +Inf, sum
  std::span<const double> bounds;
  std::vector<std::string> label_values;

  double sum(std::size_t cell) const {
    double total = 0;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      total += cells[slot][cell].load(std::memory_order_relaxed);
    }
    return total;
  }
};

inline void bump(Cell& cell, double n, bool own) {
  if (own) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  } else {
    cell.fetch_add(n, std::memory_order_relaxed);
  }
}

}  // namespace detail

// A handle. Any thread. One that was default-constructed ignores what it is told.
class Series {
 public:
  Series() = default;

  // Counters ignore negative amounts and NaN.
  void add(double n = 1) const {
    if (data_ == nullptr) return;
    assert(data_->type != MetricType::kHistogram);
    if (data_->type == MetricType::kCounter && !(n >= 0)) return;
    const std::uint32_t slot = own_slot();
    detail::bump(*data_->cells[slot], n, slot != 0);
  }
  // REQUIRES: a kGauge.
  void set(double value) const {
    if (data_ == nullptr) return;
    assert(data_->type == MetricType::kGauge);
    data_->cells[0]->store(value, std::memory_order_relaxed);
  }
  // REQUIRES: a kHistogram. NaN is ignored.
  void observe(double value) const;

  explicit operator bool() const { return data_ != nullptr; }
  bool operator==(const Series&) const = default;

  // As a number that from_id() takes back; 0 is the empty handle.
  std::uint64_t id() const { return reinterpret_cast<std::uintptr_t>(data_); }
  static Series from_id(std::uint64_t id) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): handles of the C ABI are numbers
    return Series(reinterpret_cast<const detail::SeriesData*>(static_cast<std::uintptr_t>(id)));
  }
  // REQUIRES: not empty.
  MetricType type() const { return data_->type; }
  // What a scrape would show: a counter's or gauge's value, the count of a histogram. 0 if empty.
  double value() const;

 private:
  friend class Family;
  explicit Series(const detail::SeriesData* data) : data_(data) {}

  std::uint32_t own_slot() const {
    const std::uint32_t slot = detail::t_metrics_slot;
    return slot < data_->slots ? slot : 0;
  }

  const detail::SeriesData* data_ = nullptr;
};

// All series of one name. Made by Metrics::family, lives as long as the Metrics. Any thread.
class Family {
 public:
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  MetricType type() const { return type_; }
  const std::vector<std::string>& labels() const { return labels_; }
  const std::vector<double>& bounds() const { return bounds_; }

  // The series with these label values, in the order of labels(); makes it, at zero, the first
  // time. REQUIRES: as many values as labels.
  Series with(std::span<const std::string_view> values);
  Series with(std::initializer_list<std::string_view> values) {
    return with(std::span<const std::string_view>(values.begin(), values.size()));
  }

 private:
  friend class Metrics;
  Family(Metrics& metrics, const FamilyDescriptor& descriptor, std::vector<double> bounds);

  Metrics& metrics_;
  std::string name_;
  std::string help_;
  MetricType type_;
  std::vector<std::string> labels_;
  std::vector<double> bounds_;
  std::vector<std::unique_ptr<const detail::SeriesData>> series_;
  std::unordered_map<std::string, const detail::SeriesData*> by_values_;
};

class Metrics {
 public:
  static constexpr std::size_t kMaxLabelValue = 1024;
  static constexpr std::size_t kMaxBounds = 500;

  explicit Metrics(MetricsOptions options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The calling thread is loop `index` from now on. At most one living thread per index may change
  // metrics.
  static void bind_thread(std::uint32_t index) { detail::t_metrics_slot = index + 1; }
  static void unbind_thread() { detail::t_metrics_slot = 0; }

  // The family of that name, registered now or before with the same type, labels and bounds.
  // nullptr, and a sentence in `error`, if the name is taken by a different one or something about
  // the descriptor is not valid.
  Family* family(const FamilyDescriptor& descriptor, std::string& error);
  // The same for descriptors that are known to be right; throws std::logic_error.
  Family& family(const FamilyDescriptor& descriptor);
  // nullptr if there is none.
  Family* find(std::string_view name) const;

  // Calls `fn` for every family, in order of name, without holding the lock.
  using Visitor = std::function<void(const Family&, const std::vector<const detail::SeriesData*>&)>;
  void visit(const Visitor& fn) const;

 private:
  friend class Family;
  // Cells of one slot: chunks that are never moved and never shared with another slot.
  static constexpr std::size_t kChunkCells = 512;
  struct alignas(128) Chunk {
    std::array<detail::Cell, kChunkCells> cells{};
  };
  struct Arena {
    std::vector<std::unique_ptr<Chunk>> chunks;
    std::size_t used = kChunkCells;
  };

  detail::Cell* allocate(Arena& arena, std::size_t count);
  std::string label_value(const std::string& label, std::string_view value);

  const MetricsOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
  std::vector<Arena> arenas_;  // [slot]
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> capped_seen_;
};

}  // namespace smg
