#include "host/bus/bus.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "host/bus/event_copy.hpp"

namespace smg {

Bus::Bus(std::function<std::uint64_t()> clock, Family* dropped)
    : clock_(std::move(clock)), dropped_family_(dropped), thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "smg-bus");
}

Bus::~Bus() {
  stop();
}

bool Bus::publish(const smg_event& event) {
  if (event.type == 0 || event.type >= SMG_EVENT_TYPE_COUNT) return false;
  const std::uint64_t mask = SMG_EVENT_MASK(event.type);
  // Nobody listens: not worth a copy, but the sequence rises all the same.
  std::shared_ptr<smg_event> copy;
  if ((wanted_.load(std::memory_order_relaxed) & mask) != 0) {
    copy = copy_event(event);
    if (copy == nullptr) return false;
    if (copy->time == 0) copy->time = clock_();
  } else if (event.struct_size < sizeof(smg_event)) {
    return false;
  }

  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  const std::uint64_t sequence = next_sequence_++;
  if (copy == nullptr) return true;
  copy->sequence = sequence;
  for (auto& [id, subscription] : subscriptions_) {
    if ((subscription->subscriber.types & mask) == 0) continue;
    if (subscription->queue.size() >= subscription->subscriber.capacity) {
      subscription->queue.pop_front();
      ++subscription->dropped;
      subscription->dropped_series.add();
    }
    subscription->queue.push_back(copy);
  }
  work_.notify_one();
  return true;
}

std::uint64_t Bus::subscribe(Subscriber subscriber) {
  assert(subscriber.fn != nullptr);
  auto subscription = std::make_shared<Subscription>();
  if (dropped_family_ != nullptr) {
    subscription->dropped_series = dropped_family_->with({subscriber.name});
  }
  subscription->subscriber = std::move(subscriber);
  subscription->subscriber.capacity = std::max<std::size_t>(subscription->subscriber.capacity, 1);
  const std::lock_guard lock(mutex_);
  wanted_.fetch_or(subscription->subscriber.types, std::memory_order_relaxed);
  subscriptions_.emplace(next_id_, std::move(subscription));
  return next_id_++;
}

void Bus::unsubscribe(std::uint64_t subscription) {
  std::unique_lock lock(mutex_);
  const auto found = subscriptions_.find(subscription);
  if (found == subscriptions_.end()) return;
  const auto removed = found->second;
  subscriptions_.erase(found);
  removed->queue.clear();
  std::uint64_t wanted = 0;
  for (const auto& [id, other] : subscriptions_) wanted |= other->subscriber.types;
  wanted_.store(wanted, std::memory_order_relaxed);
  if (std::this_thread::get_id() != thread_.get_id()) {
    returned_.wait(lock, [&] { return running_ != removed; });
  }
}

std::uint64_t Bus::dropped(std::uint64_t subscription) const {
  const std::lock_guard lock(mutex_);
  const auto found = subscriptions_.find(subscription);
  return found == subscriptions_.end() ? 0 : found->second->dropped;
}

void Bus::stop() {
  {
    const std::lock_guard lock(mutex_);
    assert(std::this_thread::get_id() != thread_.get_id());
    stopping_ = true;
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

// The subscription with the oldest event: so events are delivered in order of publication across
// subscribers as well.
std::shared_ptr<Bus::Subscription> Bus::next_ready() const {
  std::shared_ptr<Subscription> best;
  for (const auto& [id, subscription] : subscriptions_) {
    if (subscription->queue.empty()) continue;
    if (best == nullptr || subscription->queue.front()->sequence < best->queue.front()->sequence) {
      best = subscription;
    }
  }
  return best;
}

void Bus::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto subscription = next_ready();
    if (subscription == nullptr) {
      if (stopping_) return;
      work_.wait(lock);
      continue;
    }
    const auto event = std::move(subscription->queue.front());
    subscription->queue.pop_front();
    running_ = subscription;
    lock.unlock();
    subscription->subscriber.fn(subscription->subscriber.context, event.get());
    lock.lock();
    running_.reset();
    returned_.notify_all();
    log_losses(*subscription, lock);
  }
}

// Here and not where the loss happens, because publishers may be loop threads.
void Bus::log_losses(Subscription& subscription, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t lost = subscription.dropped - subscription.dropped_logged;
  if (lost == 0) return;
  subscription.dropped_logged = subscription.dropped;
  lock.unlock();
  spdlog::warn("event bus: subscriber '{}' was too slow and lost its {} oldest events",
               subscription.subscriber.name, lost);
  lock.lock();
}

}  // namespace smg
