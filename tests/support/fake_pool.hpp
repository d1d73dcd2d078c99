// A fleet of fakes: workers whose state a test sets, and pools of them.
//
// A change of eligibility counts an epoch before and one after the state word is written, so an
// even epoch that stood still means that nothing changed or was about to; every pool has a
// generation that no other had. States may be set on any thread, one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "smg/worker.h"

namespace smg::test {

inline smg_view view_of(const std::string& text) {
  return {text.data(), text.size()};
}

class FakeFleet;

class FakePool {
 public:
  const smg_pool* raw() const { return &raw_; }

 private:
  friend class FakeFleet;
  std::string model_;
  std::vector<const smg_worker*> workers_;
  std::vector<const smg_worker_live*> live_;
  smg_pool raw_{};
};

class FakeFleet {
 public:
  // `count` ready workers: http://w1:8000, http://w2:8000, ...
  explicit FakeFleet(std::uint32_t count) {
    for (std::uint32_t i = 1; i <= count; ++i)
      add(std::string("http://w").append(std::to_string(i)).append(":8000"));
  }
  FakeFleet(const FakeFleet&) = delete;
  FakeFleet& operator=(const FakeFleet&) = delete;

  // Returns the worker's number in this fleet.
  std::uint32_t add(const std::string& url) {
    Member& member = members_.emplace_back();
    member.url = url;
    member.live.state = SMG_STATUS_READY;
    smg_worker& worker = member.worker;
    worker.struct_size = sizeof worker;
    worker.ref = members_.size();
    worker.slot = static_cast<std::uint32_t>(members_.size() - 1);
    worker.dp_rank = -1;
    worker.dp_size = 1;
    worker.priority = 50;
    worker.cost = 1.0;
    worker.url = worker.base_url = worker.id = view_of(member.url);
    worker.live = &member.live;
    return worker.slot;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  smg_worker_live& live(std::uint32_t number) { return members_[number].live; }
  smg_worker& worker(std::uint32_t number) { return members_[number].worker; }
  const std::string& url(std::uint32_t number) const { return members_[number].url; }
  void set_in_flight(std::uint32_t number, std::uint32_t requests) {
    __atomic_store_n(&members_[number].live.in_flight, requests, __ATOMIC_RELAXED);
  }
  // A report of those figures, the next in its worker's sequence.
  void report(std::uint32_t number, std::int64_t waiting_requests, std::int64_t waiting_tokens,
              double throughput, double usage) {
    smg_worker_live& live = members_[number].live;
    store(live.waiting_requests, waiting_requests);
    store(live.waiting_uncached_tokens, waiting_tokens);
    store(live.throughput, throughput);
    store(live.token_usage, usage);
    __atomic_store_n(&live.report_sequence, live.report_sequence + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&live.report_valid, 1u, __ATOMIC_RELEASE);
  }
  // A poll that brought nothing.
  void no_report(std::uint32_t number) {
    __atomic_store_n(&members_[number].live.report_valid, 0u, __ATOMIC_RELEASE);
  }

  void set_state(std::uint32_t number, std::uint32_t state) {
    __atomic_add_fetch(&epoch_, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&members_[number].live.state, state, __ATOMIC_RELEASE);
    __atomic_add_fetch(&epoch_, 1, __ATOMIC_RELEASE);
  }
  void down(std::uint32_t number) { set_state(number, SMG_STATUS_NOT_READY); }
  void up(std::uint32_t number) { set_state(number, SMG_STATUS_READY); }

  // A pool of these workers in this order; of all without a list.
  std::unique_ptr<FakePool> pool(std::vector<std::uint32_t> numbers,
                                 const std::string& model = "m") {
    auto pool = std::make_unique<FakePool>();
    pool->model_ = model;
    for (const std::uint32_t number : numbers) {
      pool->workers_.push_back(&members_[number].worker);
      pool->live_.push_back(&members_[number].live);
    }
    pool->raw_ = {sizeof(smg_pool),      static_cast<std::uint32_t>(numbers.size()),
                  pool->workers_.data(), pool->live_.data(),
                  ++generation_,         &epoch_,
                  view_of(pool->model_)};
    return pool;
  }
  std::unique_ptr<FakePool> pool() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < size(); ++i) numbers.push_back(i);
    return pool(std::move(numbers));
  }

 private:
  struct Member {
    std::string url;
    smg_worker_live live{};
    smg_worker worker{};
  };

  template <class T>
  static void store(T& place, T value) {
    __atomic_store(&place, &value, __ATOMIC_RELAXED);
  }

  std::deque<Member> members_;  // addresses stay
  std::uint64_t generation_ = 0;
  std::uint64_t epoch_ = 2;
};

}  // namespace smg::test
