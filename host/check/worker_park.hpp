// Workers and pools as policies see them, whose state the checks set.
//
// As the registry does it: an epoch is counted before and after each change of a state word, and
// every pool has a generation that no other had. A park outlives its pools. State may be set on one
// thread while others select.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/random.hpp"
#include "smg/policy.h"

namespace smg::check {

class WorkerPark;

// All that a policy may read through the pool lies in pages of its own.
class ParkedPool {
 public:
  ~ParkedPool();
  ParkedPool(const ParkedPool&) = delete;
  ParkedPool& operator=(const ParkedPool&) = delete;

  const smg_pool& view() const { return *view_; }
  // At least one of them may be chosen.
  bool any_eligible() const;

 private:
  friend class WorkerPark;
  ParkedPool(const WorkerPark& park, std::size_t count);

  const bool& keep_unreadable_;
  std::size_t bytes_;
  void* pages_;
  smg_pool* view_;
};

class WorkerPark {
 public:
  // Ready workers `http://w1:8000`, `http://w2:8000`, ...
  explicit WorkerPark(std::uint32_t count);
  WorkerPark(const WorkerPark&) = delete;
  WorkerPark& operator=(const WorkerPark&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  const smg_worker& worker(std::uint32_t number) const { return members_[number].worker; }
  void set_state(std::uint32_t number, std::uint32_t state);
  // From now on a policy that reads a pool after its end crashes. For a few hundred pools.
  void make_gone_pools_unreadable() { keep_unreadable_ = true; }
  // One worker gets a random state, load or report.
  void stir(Random& random);
  std::unique_ptr<ParkedPool> pool(const std::vector<std::uint32_t>& numbers);
  std::unique_ptr<ParkedPool> all();
  // About three of four, in a random order; perhaps none.
  std::unique_ptr<ParkedPool> some(Random& random);

 private:
  struct Member {
    std::string url;
    std::string host;
    smg_worker_live live{};
    smg_worker worker{};
  };

  friend class ParkedPool;
  bool keep_unreadable_ = false;
  std::deque<Member> members_;  // addresses stay
  std::uint64_t generation_ = 0;
  std::uint64_t epoch_ = 2;
};

// A request with random texts, keys and bits; few keys and sizes, so that they meet again.
class RandomRequest {
 public:
  RandomRequest(Random& random, std::uint64_t now);
  const smg_policy_request& view() const { return view_; }

 private:
  std::string key_;
  std::string text_;
  std::vector<std::uint32_t> tokens_;
  smg_policy_request view_{};
};

}  // namespace smg::check
