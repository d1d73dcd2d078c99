// The host's services as fakes: no threads, no loop that runs, a clock that stands until it is
// moved.
//
// For plugins that only need to be told things: policies and monitors. A transport needs loops that
// run: test_loop.hpp. Every thread is off-loop unless OnLoop says otherwise. Timers fire in
// advance(), on the thread that calls it. Log lines, metrics and events are kept for the test to
// look at; options are the defaults of a descriptor (set_defaults) and those that the test sets.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "smg/host.h"

namespace smg::test {

// For its lifetime the calling thread is loop `index` of every FakeHost.
class OnLoop {
 public:
  explicit OnLoop(std::uint32_t index) : before_(current()) { current() = index; }
  ~OnLoop() { current() = before_; }
  OnLoop(const OnLoop&) = delete;
  OnLoop& operator=(const OnLoop&) = delete;

  static std::uint32_t& current() {
    thread_local std::uint32_t index = SMG_LOOP_NONE;
    return index;
  }

 private:
  std::uint32_t before_;
};

class FakeHost {
 public:
  explicit FakeHost(std::uint32_t loops = 2) : loops_(loops) {
    raw_ = {sizeof raw_, 0, this,
            [](const smg_host* host, const char* id) { return of(host).table(id); }};
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const smg_host* raw() const { return &raw_; }

  std::atomic<std::uint64_t> time{1};
  // Given before create(). Strings as they are.
  std::map<std::string, bool, std::less<>> bools;
  std::map<std::string, std::int64_t, std::less<>> ints;
  std::map<std::string, double, std::less<>> floats;
  std::map<std::string, std::string, std::less<>> strings;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;

  // Moves the clock and fires the timers that become due, in their order, as the control loop.
  void advance(std::uint64_t nanoseconds) {
    const OnLoop control(loops_ - 1);
    const std::uint64_t end = time + nanoseconds;
    for (;;) {
      smg_timer* next = nullptr;
      {
        const std::lock_guard lock(mutex_);
        for (smg_timer* timer : timers_) {
          if (timer->due <= end && (next == nullptr || timer->due < next->due)) next = timer;
        }
        if (next == nullptr) break;
        std::erase(timers_, next);
        next->host_link = nullptr;
      }
      if (next->due > time) time = next->due;
      next->fired(next);
    }
    time = end;
  }
  std::size_t timer_count() const {
    const std::lock_guard lock(mutex_);
    return timers_.size();
  }

  std::vector<std::string> log_lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // The sum of a metric's series `name` or `name{value,value}`.
  double metric(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (series_[i].first == name) return series_[i].second;
    }
    return 0;
  }
  // Delivers to every subscriber, on the calling thread.
  void publish(const smg_event& event) {
    std::vector<Subscriber> subscribers;
    {
      const std::lock_guard lock(mutex_);
      subscribers = subscribers_;
    }
    for (const Subscriber& subscriber : subscribers) {
      if ((subscriber.types & SMG_EVENT_MASK(event.type)) != 0) {
        subscriber.fn(subscriber.context, &event);
      }
    }
  }
  std::size_t subscriber_count() const {
    const std::lock_guard lock(mutex_);
    return subscribers_.size();
  }

 private:
  struct Subscriber {
    std::uint64_t handle;
    std::uint64_t types;
    smg_event_fn fn;
    void* context;
  };

  // First, because the tables below use them.
  smg_host raw_{};
  std::uint32_t loops_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::string> families_;
  std::vector<std::pair<std::string, double>> series_;
  std::vector<Subscriber> subscribers_;
  std::uint64_t last_handle_ = 0;
  std::vector<smg_timer*> timers_;
  smg_timer* set_mark_ = nullptr;  // what host_link of a set timer points to
  std::vector<smg_view> list_views_;

  static FakeHost& of(const smg_host* host) { return *static_cast<FakeHost*>(host->context); }
  static std::string text(smg_view view) { return {view.data, view.size}; }

  template <class Map, class Value>
  static smg_status find(const Map& map, smg_view name, Value* value) {
    const auto found = map.find(text(name));
    if (found == map.end()) return SMG_E_NOT_FOUND;
    *value = static_cast<Value>(found->second);
    return SMG_OK;
  }

  const void* table(std::string_view id) const {
    if (id == SMG_SERVICE_LOG) return &kLog;
    if (id == SMG_SERVICE_CLOCK) return &kClock;
    if (id == SMG_SERVICE_OPTIONS) return &kOptions;
    if (id == SMG_SERVICE_METRICS) return &kMetrics;
    if (id == SMG_SERVICE_BUS) return &kBus;
    if (id == SMG_SERVICE_LOOP) return &kLoop;
    return nullptr;
  }

  static const smg_log_service kLog;

  static const smg_clock_service kClock;

  static const smg_options_service kOptions;

  static const smg_metrics_service kMetrics;

  static const smg_bus_service kBus;

  // Watches, posts and scratch are for plugins that need a loop that runs.
  static const smg_loop_service kLoop;
};

// Outside of the class: within, clang does not yet know its members.
inline const smg_log_service FakeHost::kLog = {
    sizeof(smg_log_service), 0,
    [](const smg_host* host, std::uint32_t, smg_view line) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).lines_.push_back(text(line));
    },
    [](const smg_host*, std::uint32_t) { return 1u; }};

inline const smg_clock_service FakeHost::kClock = {
    sizeof(smg_clock_service), 0, [](const smg_host* host) { return of(host).time.load(); },
    [](const smg_host* host) { return of(host).time.load() / 1'000'000; }};

inline const smg_options_service FakeHost::kOptions = {
    sizeof(smg_options_service),
    0,
    [](const smg_host* host, smg_view name, std::uint32_t* value) {
      return find(of(host).bools, name, value);
    },
    [](const smg_host* host, smg_view name, std::int64_t* value) {
      return find(of(host).ints, name, value);
    },
    [](const smg_host* host, smg_view name, double* value) {
      return find(of(host).floats, name, value);
    },
    [](const smg_host* host, smg_view name, smg_view* value) {
      const auto found = of(host).strings.find(text(name));
      if (found == of(host).strings.end()) return SMG_E_NOT_FOUND;
      *value = {found->second.data(), found->second.size()};
      return SMG_OK;
    },
    [](const smg_host* host, smg_view name, const smg_view** values, std::uint32_t* count) {
      const auto found = of(host).lists.find(text(name));
      if (found == of(host).lists.end()) return SMG_E_NOT_FOUND;
      // Good until the next call, which is all that a plugin under test needs.
      of(host).list_views_.clear();
      for (const auto& value : found->second) {
        of(host).list_views_.push_back({value.data(), value.size()});
      }
      *values = of(host).list_views_.data();
      *count = static_cast<std::uint32_t>(of(host).list_views_.size());
      return SMG_OK;
    }};

inline const smg_metrics_service FakeHost::kMetrics = {
    sizeof(smg_metrics_service),
    0,
    [](const smg_host* host, std::uint32_t, smg_view name, smg_view, const smg_view*, std::uint32_t,
       const double*, std::uint32_t, std::uint64_t* family) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).families_.push_back(text(name));
      *family = of(host).families_.size() - 1;
      return SMG_OK;
    },
    [](const smg_host* host, std::uint64_t family, const smg_view* values, std::uint32_t count,
       std::uint64_t* series) {
      const std::lock_guard lock(of(host).mutex_);
      std::string name = of(host).families_.at(family);
      for (std::uint32_t i = 0; i < count; ++i) {
        name.append(i == 0 ? "{" : ",").append(values[i].data, values[i].size);
      }
      if (count > 0) name += "}";
      of(host).series_.emplace_back(std::move(name), 0.0);
      *series = of(host).series_.size() - 1;
      return SMG_OK;
    },
    [](const smg_host* host, std::uint64_t series, double value) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).series_.at(series).second += value;
    },
    [](const smg_host* host, std::uint64_t series, double value) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).series_.at(series).second = value;
    },
    [](const smg_host* host, std::uint64_t series, double value) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).series_.at(series).second += value;
    }};

inline const smg_bus_service FakeHost::kBus = {
    sizeof(smg_bus_service), 0,
    [](const smg_host* host, const smg_event* event) { of(host).publish(*event); },
    [](const smg_host* host, std::uint64_t types, smg_event_fn fn, void* context) {
      const std::lock_guard lock(of(host).mutex_);
      of(host).subscribers_.push_back({++of(host).last_handle_, types, fn, context});
      return of(host).last_handle_;
    },
    [](const smg_host* host, std::uint64_t handle) {
      const std::lock_guard lock(of(host).mutex_);
      std::erase_if(of(host).subscribers_,
                    [&](const Subscriber& each) { return each.handle == handle; });
    }};

inline const smg_loop_service FakeHost::kLoop = {
    sizeof(smg_loop_service),
    0,
    [](const smg_host* host) { return of(host).loops_; },
    [](const smg_host*) { return OnLoop::current(); },
    nullptr,
    nullptr,
    [](const smg_host* host, smg_timer* timer, std::uint64_t due) {
      const std::lock_guard lock(of(host).mutex_);
      std::erase(of(host).timers_, timer);
      timer->due = due;
      timer->host_link = &of(host).set_mark_;
      of(host).timers_.push_back(timer);
    },
    [](const smg_host* host, smg_timer* timer) {
      const std::lock_guard lock(of(host).mutex_);
      std::erase(of(host).timers_, timer);
      timer->host_link = nullptr;
    },
    nullptr,
    nullptr,
    nullptr};

}  // namespace smg::test
