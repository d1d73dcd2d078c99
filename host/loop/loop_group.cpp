#include "host/loop/loop_group.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <future>

namespace smg {

LoopGroup::LoopGroup(std::uint32_t data_loops) {
  for (std::uint32_t i = 0; i <= data_loops; ++i) loops_.push_back(std::make_unique<Loop>(i));
}

LoopGroup::~LoopGroup() {
  stop();
}

void LoopGroup::start(std::function<void(Loop&)> prepare) {
  for (auto& loop : loops_) {
    threads_.emplace_back([&loop = *loop, control = &loop == &loops_.back(), prepare] {
      const std::string name = control ? "smg-control" : "smg-loop-" + std::to_string(loop.index());
      pthread_setname_np(pthread_self(), name.c_str());
      prepare(loop);
      loop.run();
    });
  }
}

void LoopGroup::stop() {
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void LoopGroup::run_on(std::uint32_t index, std::function<void()> fn) {
  struct Call : smg_task {
    std::function<void()> fn;
    std::promise<void> done;
  };
  auto* call = new Call{};  // deletes itself: the waiter may be gone before set_value() returns
  call->fn = std::move(fn);
  call->run = [](smg_task* task) {
    std::unique_ptr<Call> self(static_cast<Call*>(task));
    try {
      self->fn();
      self->done.set_value();
    } catch (...) {
      self->done.set_exception(std::current_exception());
    }
  };
  auto done = call->done.get_future();
  loops_[index]->post(call);
  done.get();
}

std::uint32_t available_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::uint32_t cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  // cgroup v2: "max 100000" or "<quota> <period>", microseconds.
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    const double limit = std::ceil(std::strtod(quota.c_str(), nullptr) / period);
    if (limit >= 1) cpus = std::min(cpus, static_cast<std::uint32_t>(limit));
  }
  return cpus;
}

}  // namespace smg
