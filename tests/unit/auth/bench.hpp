// What the tests of authentication stand on: metrics, a log that can be read, and a place where
// posted tasks arrive.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "host/auth/control_plane.hpp"

namespace smg::test {

struct AuthBench {
  AuthBench() : before(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>(
        "t", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  ~AuthBench() { spdlog::set_default_logger(before); }

  static AdminQuery query(std::string_view authorization) {
    return {authorization, "POST", "/workers", "", "req-1"};
  }
  ControlPlane::Post post() {
    return [this](smg_task* task) {
      const std::lock_guard lock(mutex);
      posted.push_back(task);
      wake.notify_one();
    };
  }
  // The verdict, waited for if it is not told at once.
  AdminVerdict ask(ControlPlane& plane, const std::string& authorization) {
    std::optional<AdminVerdict> told;
    ControlPlane::Pending pending;
    auto verdict = plane.check(
        query(authorization), post(), [&](const AdminVerdict& late) { told = late; }, pending);
    if (verdict) return *verdict;
    while (!told) {
      std::unique_lock lock(mutex);
      if (!wake.wait_for(lock, std::chrono::seconds(30), [&] { return !posted.empty(); })) {
        throw std::runtime_error("no verdict within 30 s");
      }
      lock.unlock();
      run_posted();
    }
    return *told;
  }
  void run_posted() {
    std::unique_lock lock(mutex);
    while (!posted.empty()) {
      smg_task* task = posted.front();
      posted.pop_front();
      lock.unlock();
      task->run(task);
      lock.lock();
    }
  }
  double rejected(std::string_view status) {
    return families.auth_rejections.with({"admin", status}).value();
  }
  std::size_t lines(std::string_view part) const {
    const std::string text = log.str();
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  std::shared_ptr<spdlog::logger> before;
  std::ostringstream log;
  Metrics metrics{{.loops = 1}};
  Families families{metrics};
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<smg_task*> posted;
};

}  // namespace smg::test
