#include "host/admin/file_watch.hpp"

#include <utility>

namespace smg {

FileWatch::FileWatch(Loop& control, Background& background, std::string file,
                     std::function<void()> changed)
    : control_(control),
      background_(background),
      file_(std::move(file)),
      changed_(std::move(changed)) {
  timer_.owner = this;
  timer_.fired = due;
}

FileWatch::~FileWatch() {
  stop();
}

void FileWatch::start() {
  on_ = true;
  control_.set_timer(&timer_, control_.now() + kInterval);
}

void FileWatch::stop() {
  on_ = false;
  control_.clear_timer(&timer_);
}

void FileWatch::due(smg_timer* timer) {
  FileWatch& self = *static_cast<Timer*>(timer)->owner;
  self.control_.set_timer(timer, self.control_.now() + kInterval);
  // One look at a time, however slow.
  if (std::exchange(self.looking_, true)) return;
  self.background_.submit([&self]() -> Background::Then {
    return [&self, signature = FileSignature::of(self.file_)] { self.looked(signature); };
  });
}

void FileWatch::looked(const FileSignature& signature) {
  looking_ = false;
  if (!on_) return;
  const bool settled = last_ == signature;
  last_ = signature;
  if (!settled || known_ == signature) return;
  known_ = signature;
  changed_();
}

}  // namespace smg
