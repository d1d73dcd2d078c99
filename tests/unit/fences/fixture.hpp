// What stands behind an instance that misbehaves: metrics, bus, log, a clock that the test sets.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <sstream>
#include <string>

#include "host/base/views.hpp"
#include "host/metrics/families.hpp"
#include "host/plugin/host_context.hpp"

namespace smg::test {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Fixture {
  explicit Fixture(std::uint32_t loops = 3) : metrics({.loops = loops}) {
    services = HostServices::basic();
    services.now = [this] { return now.load(); };
    services.logger = std::make_shared<spdlog::logger>(
        "t", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
    services.logger->set_pattern("%l %v");
    services.metrics = &metrics;
    services.bus = &bus;
    services.fault_limits = {10, 60 * kSecond};
  }

  double faults(std::string_view plugin, Fault kind) {
    return metrics.family(family::kPluginFaults).with({plugin, fault_name(kind)}).value();
  }
  double fenced(std::string_view kind, std::string_view plugin) {
    return metrics.family(family::kPluginFenced).with({kind, plugin}).value();
  }
  std::size_t lines(std::string_view part) const {
    const std::string text = log.str();
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  std::atomic<std::uint64_t> now{1000 * kSecond};
  std::ostringstream log;
  Metrics metrics;
  Bus bus{[] { return std::uint64_t{1}; }};
  HostServices services;
};

}  // namespace smg::test
