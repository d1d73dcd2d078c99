#include "host/admin/background.hpp"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace smg {

struct Background::Result : smg_task {
  std::shared_ptr<bool> here;
  Then then;

  static void arrive(smg_task* task) {
    const std::unique_ptr<Result> self(static_cast<Result*>(task));
    if (*self->here) self->then();
  }
};

Background::Background(Loop& control)
    : control_(control), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Background::~Background() {
  *here_ = false;
}

void Background::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void Background::run(const std::stop_token& stop) {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      if (stop.stop_requested()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    auto result = std::make_unique<Result>();
    result->run = Result::arrive;
    result->here = here_;
    try {
      result->then = work();
    } catch (const std::exception& error) {
      spdlog::error("work in the background failed: {}", error.what());
      result->then = [] {};
    }
    work = nullptr;
    control_.post(result.release());
  }
}

}  // namespace smg
