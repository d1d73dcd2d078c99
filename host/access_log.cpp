#include "host/access_log.hpp"

#include <time.h>

#include <chrono>

namespace smg {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

// Milliseconds since 1970; exact to one tick of the kernel.
std::uint64_t wall_clock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace

void AccessLog::Lane::record(const AccessEntry& entry) {
  const std::uint64_t now = wall_clock();
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t before = waiting_.size();
    if (before >= kMostWaiting) return log_.dropped_.add();
    line_.append(waiting_, entry, now);
    full = before < kWakeAt && waiting_.size() >= kWakeAt;
  }
  if (full) log_.wake();
}

AccessLog::AccessLog(const Log& config, std::uint32_t lanes, Series dropped, int standard_output)
    : dropped_(dropped) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    lanes_.push_back(std::unique_ptr<Lane>(new Lane(*this, config.json)));
  }
  if (standard_output >= 0) outputs_.push_back(LineOutput::of(standard_output));
  if (!config.dir.empty()) file_ = config.dir + "/access.log";
}

std::string AccessLog::start() {
  if (!file_.empty()) {
    std::string error;
    auto output = LineOutput::file(file_, error);
    if (output == nullptr) return "[log] dir: " + error;
    outputs_.push_back(std::move(output));
  }
  writer_ = std::thread([this] { run(); });
  return {};
}

AccessLog::~AccessLog() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  due_.notify_one();
  writer_.join();
}

void AccessLog::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_due_ = true;
  }
  due_.notify_one();
}

void AccessLog::run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex_);
      due_.wait_for(lock, kInterval, [this] { return is_due_ || stopping_; });
      is_due_ = false;
      last = stopping_;
    }
    // What waits for one output is not written to the other, and lanes fill up meanwhile.
    write_waiting(last || outputs_.size() == 1 ? LineOutput::kPatience : kInterval);
  }
}

// All lanes in one call of an output, so that its patience is asked for once.
void AccessLog::write_waiting(std::chrono::milliseconds patience) {
  batch_.clear();
  for (const auto& lane : lanes_) {
    taken_.clear();
    {
      const std::lock_guard lock(lane->mutex_);
      taken_.swap(lane->waiting_);
    }
    batch_ += taken_;
  }
  if (batch_.empty()) return;
  for (const auto& output : outputs_) {
    if (const std::uint64_t lost = output->write(batch_, patience); lost > 0) {
      dropped_.add(static_cast<double>(lost));
    }
  }
}

}  // namespace smg
