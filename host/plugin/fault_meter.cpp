#include "host/plugin/fault_meter.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>

#include "host/base/views.hpp"
#include "host/metrics/families.hpp"
#include "host/metrics/utf8.hpp"
#include "host/plugin/host_context.hpp"

namespace smg {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"selection",    "slow_select", "exception",
                                                    "wrong_thread", "late_call",   "late_answer",
                                                    "bad_call"};

// Who is behind a number. [0]: strays.
struct Numbers {
  std::mutex mutex;
  std::array<FaultMeter*, FaultMeter::kMostNumbers> meters{};
  std::uint32_t last = 0;
};

Numbers& numbers() {
  static Numbers all;
  return all;
}

template <class Use>
void at(std::uint32_t number, Use use) {
  Numbers& all = numbers();
  const std::lock_guard lock(all.mutex);  // it may not go meanwhile
  FaultMeter* meter = number < all.meters.size() ? all.meters[number] : nullptr;
  if (meter == nullptr) meter = all.meters[0];
  if (meter != nullptr) use(*meter);
}

std::string_view what_happens_now(std::string_view kind) {
  if (kind == "policy") return "requests go to the least loaded eligible worker";
  if (kind == "monitor") return "it is asked for no report any more";
  return "it is given no further worker, those it has go on";
}

// 1, 10, 100, ...: often enough to be seen, and never a flood.
bool is_power_of_ten(std::uint64_t count) {
  while (count >= 10 && count % 10 == 0) count /= 10;
  return count == 1;
}

}  // namespace

std::string_view fault_name(Fault kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

FaultMeter::FaultMeter(const HostServices& services, std::string_view instance)
    : instance_(instance),
      kind_(std::string_view(instance_).substr(0, instance_.find('.'))),
      name_(std::string_view(instance_).substr(std::min(kind_.size() + 1, instance_.size()))),
      limits_(services.fault_limits),
      now_(services.now),
      logger_(services.logger),
      bus_(services.bus),
      times_(std::make_unique<std::atomic<std::uint64_t>[]>(limits_.max_faults)) {
  if (services.metrics != nullptr) {
    Family& faults = services.metrics->family(family::kPluginFaults);
    for (std::size_t i = 0; i < kKinds; ++i) series_[i] = faults.with({name_, kNames[i]});
    fenced_series_ = services.metrics->family(family::kPluginFenced).with({kind_, name_});
  }
  if (kind_ == "policy") return;
  Numbers& all = numbers();
  const std::lock_guard lock(all.mutex);
  // The one that has been free for longest, so that old tickets do not name somebody else.
  for (std::uint32_t i = 0; i < kMostNumbers - 1 && number_ == 0; ++i) {
    all.last = all.last % (kMostNumbers - 1) + 1;
    if (all.meters[all.last] != nullptr) continue;
    all.meters[all.last] = this;
    number_ = all.last;
  }
}

FaultMeter::~FaultMeter() {
  if (fenced()) fenced_series_.add(-1);
  Numbers& all = numbers();
  const std::lock_guard lock(all.mutex);
  std::replace(all.meters.begin(), all.meters.end(), this, static_cast<FaultMeter*>(nullptr));
}

void FaultMeter::take_strays() {
  Numbers& all = numbers();
  const std::lock_guard lock(all.mutex);
  all.meters[0] = this;
}

void FaultMeter::count(Fault kind, std::string_view what) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  series_[index].add();
  remember(kind, what);
  const std::uint64_t count = counts_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_power_of_ten(count)) log(kind, what, count);
  const std::uint64_t before = total_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t most = limits_.max_faults;
  if (most == 0 || fenced()) return;
  const std::uint64_t now = now_();
  times_[before % most].store(now, std::memory_order_relaxed);
  if (before + 1 < most) return;
  const std::uint64_t oldest = times_[(before + 1) % most].load(std::memory_order_relaxed);
  if (now > oldest && now - oldest > limits_.window) return;
  if (!fenced_.exchange(true, std::memory_order_relaxed)) fence(what);
}

void FaultMeter::count_exception(std::string_view call) noexcept {
  std::array<char, kLongestText> text;
  const auto say = [&](std::string_view what) {
    const auto end = fmt::format_to_n(text.data(), text.size(), "{} threw {}", call, what);
    count(Fault::exception, {text.data(), std::min<std::size_t>(end.size, text.size())});
  };
  try {
    throw;
  } catch (const std::exception& exception) {
    say(exception.what());
  } catch (...) {
    say("something that is no std::exception");
  }
}

FaultMeter::Last FaultMeter::last() const {
  const std::lock_guard lock(mutex_);
  return {last_kind_, valid_utf8({last_text_.data(), last_size_})};
}

void FaultMeter::count_at(std::uint32_t number, Fault kind, std::string_view what) noexcept {
  at(number, [&](FaultMeter& meter) { meter.count(kind, what); });
}

void FaultMeter::count_exception_at(std::uint32_t number, std::string_view call) noexcept {
  at(number, [&](FaultMeter& meter) { meter.count_exception(call); });
}

// Whoever finds it taken leaves the words of the other one.
void FaultMeter::remember(Fault kind, std::string_view what) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  last_kind_ = kind;
  last_size_ = what.copy(last_text_.data(), last_text_.size());
}

void FaultMeter::log(Fault kind, std::string_view what, std::uint64_t count) const {
  if (logger_ == nullptr) return;
  logger_->warn("{}: fault {} of kind {}: {}", instance_, count, fault_name(kind),
                valid_utf8(what, kLongestText));
}

void FaultMeter::fence(std::string_view what) {
  fenced_series_.add(1);
  const std::string reason =
      fmt::format("fenced: {} faults within {} s, the last one: {}", limits_.max_faults,
                  limits_.window / 1'000'000'000, valid_utf8(what, kLongestText));
  if (logger_ != nullptr) {
    logger_->error("{} is {}; {}: correct the plugin and reload it", instance_, reason,
                   what_happens_now(kind_));
  }
  if (bus_ == nullptr) return;
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_PLUGIN_STATE;
  event.subject = view(name_);
  event.text = view(reason);
  bus_->publish(event.event);
}

}  // namespace smg
