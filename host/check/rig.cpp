#include "host/check/rig.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "host/check/services.hpp"
#include "host/loop/loop_service.hpp"

namespace smg::check {

void Complaints::add(Kind kind, std::string text) {
  const std::lock_guard lock(mutex_);
  Entry& entry = kind == Kind::thread ? thread_ : order_;
  if (entry.count++ == 0) entry.text = std::move(text);
}

std::string Complaints::first(Kind kind) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = kind == Kind::thread ? thread_ : order_;
  if (entry.count < 2) return entry.text;
  return entry.text + " (and " + std::to_string(entry.count - 1) + " more like it)";
}

Rig::Rig(std::uint32_t data_loops)
    : loops_(data_loops),
      metrics_({.loops = data_loops + 1}),
      bus_(Loop::clock),
      resolver_(loops_),
      streams_(complaints_),
      fleet_(loops_.control()) {
  install_loop_service(&loops_, &resolver_);
  loops_.start([](Loop& loop) { Metrics::bind_thread(loop.index()); });
}

Rig::~Rig() {
  bus_.stop();
  loops_.stop();
}

HostServices Rig::services() {
  HostServices services = HostServices::basic();
  services.now = [] {
    const Loop* const loop = Loop::current();
    return loop == nullptr ? Loop::clock() : loop->now();
  };
  // Lines are formatted and then dropped: writing them is part of what is checked.
  services.logger =
      std::make_shared<spdlog::logger>("check", std::make_shared<spdlog::sinks::null_sink_mt>());
  services.logger->set_level(spdlog::level::debug);
  services.metrics = &metrics_;
  services.bus = &bus_;
  services.loop = &checked_loop_service();
  services.resolve = &checked_resolve_service();
  services.fleet = &checked_fleet_service();
  services.gateway = this;
  return services;
}

void Rig::on_loop(std::uint32_t index, const std::function<void()>& body) {
  std::exception_ptr thrown;
  loops_.run_on(index, [&] {
    try {
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void Rig::settle() {
  // What is deferred runs at the end of a turn, after the posted tasks: a second round follows it.
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < loops_.count(); ++i) loops_.run_on(i, [] {});
  }
}

bool Rig::wait(const std::function<bool()>& done, std::uint64_t milliseconds) {
  const std::uint64_t end = Loop::clock() + milliseconds * 1'000'000;
  while (!done()) {
    if (Loop::clock() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

std::unique_ptr<PluginInstance> Rig::create(const std::shared_ptr<const Plugin>& plugin,
                                            const PluginOptions& options, std::string& problem) {
  std::unique_ptr<PluginInstance> instance;
  on_control([&] {
    instance = PluginInstance::create(plugin, services(), options, &SinkDesk::sink(), problem);
  });
  return instance;
}

void Rig::destroy(std::unique_ptr<PluginInstance> instance) {
  on_control([&] { instance.reset(); });
  settle();
}

}  // namespace smg::check
