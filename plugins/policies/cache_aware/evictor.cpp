#include "evictor.hpp"

#include <utility>

namespace cache_aware {

Evictor::Evictor(smg::Host host, const Settings& settings, const Models& models)
    : clock_(host), loop_(host), settings_(settings), models_(models), thread_([this] { run(); }) {
  loop_.set(clean_up_timer_, clock_.now() + settings_.eviction_interval);
  if (settings_.kv_indexer_ttl > 0 || settings_.kv_indexer_max_entries > 0) {
    loop_.set(prune_timer_, clock_.now() + kPruneInterval);
  }
}

Evictor::~Evictor() {
  loop_.clear(clean_up_timer_);
  loop_.clear(prune_timer_);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  noted_.notify_one();
  thread_.join();
}

void Evictor::wake() {
  if (awake_.load(std::memory_order_relaxed) || awake_.exchange(true)) return;
  leave_note(clean_up_noted_);
}

void Evictor::clean_up_due() noexcept {
  leave_note(clean_up_noted_);
  loop_.set(clean_up_timer_, clock_.now() + settings_.eviction_interval);
}

void Evictor::prune_due() noexcept {
  leave_note(prune_noted_);
  loop_.set(prune_timer_, clock_.now() + kPruneInterval);
}

void Evictor::leave_note(bool& note) {
  {
    const std::lock_guard lock(mutex_);
    note = true;
  }
  noted_.notify_one();
}

void Evictor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    noted_.wait(lock, [this] { return stop_ || clean_up_noted_ || prune_noted_; });
    if (stop_) return;
    const bool clean_up_now = std::exchange(clean_up_noted_, false);
    const bool prune_now = std::exchange(prune_noted_, false);
    lock.unlock();
    const std::shared_ptr<const Models::List> models = models_.list();
    if (clean_up_now) clean_up(*models);
    if (prune_now) prune(*models);
    lock.lock();
  }
}

void Evictor::clean_up(const Models::List& models) {
  for (const auto& model : models) {
    if (stop_) return;
    model->clean_up(clock_.now());
  }
  awake_ = false;
}

void Evictor::prune(const Models::List& models) {
  for (const auto& model : models) {
    if (stop_) return;
    model->index.prune(static_cast<uint32_t>(clock_.now() / kSecond), settings_.kv_indexer_ttl,
                       settings_.kv_indexer_max_entries);
  }
}

}  // namespace cache_aware
