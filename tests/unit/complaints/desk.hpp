// A policy out of its library, with its default options, on a fleet of fakes whose requests take
// time: what is sent stays in flight until it is finished.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "defaults.hpp"
#include "fake_host.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"

namespace smg::test {

class Desk {
 public:
  Desk(const std::string& library, std::uint32_t workers, const std::string& model = "m",
       std::uint64_t seed = 7)
      : fleet(workers), model_(model), random_(seed) {
    host.time = 1'000'000'000'000;
    set_defaults(host, library);
    library_ = library;
    set_members_of_all();
  }

  // The options of the host may be changed until here.
  LoadedPolicy& policy() {
    if (policy_ == nullptr) {
      policy_ = std::make_unique<LoadedPolicy>(library_, host);
      policy_->pool_changed(nullptr, pool_->raw());
    }
    return *policy_;
  }
  const FakePool& pool() const { return *pool_; }

  // Membership as the host tells it.
  void set_members(std::vector<std::uint32_t> numbers) {
    LoadedPolicy& told = policy();
    auto next = fleet.pool(std::move(numbers), model_);
    told.pool_changed(pool_->raw(), next->raw());
    old_pools_.push_back(std::move(pool_));
    pool_ = std::move(next);
  }

  std::optional<std::uint32_t> choose(const std::string& text = {}, const std::string& key = {}) {
    smg_policy_request request{};
    request.now = host.time;
    request.random = next_random(random_);
    request.model = view_of(model_);
    request.text = view_of(text);
    request.routing_key = view_of(key);
    LoadedPolicy& asked = policy();
    return asked.select(pool_->raw(), request);
  }
  // Chooses and sends: one more in flight there.
  std::uint32_t send(const std::string& text = {}, const std::string& key = {}) {
    const std::uint32_t number = number_of(choose(text, key).value());
    fleet.set_in_flight(number, fleet.live(number).in_flight + 1);
    return number;
  }
  void finish(std::uint32_t number) {
    fleet.set_in_flight(number, fleet.live(number).in_flight - 1);
  }

  std::uint32_t number_of(std::uint32_t index) const { return pool_->raw()->workers[index]->slot; }

  FakeHost host;
  FakeFleet fleet;

 private:
  void set_members_of_all() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < fleet.size(); ++i) numbers.push_back(i);
    pool_ = fleet.pool(std::move(numbers), model_);
  }

  std::string model_;
  std::string library_;
  std::unique_ptr<FakePool> pool_;
  std::vector<std::unique_ptr<FakePool>> old_pools_;
  std::unique_ptr<LoadedPolicy> policy_;
  std::uint64_t random_;
};

// A long text that no other number shares a beginning with.
inline std::string story(std::uint64_t number, std::size_t words = 200) {
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    text += static_cast<char>('a' + next_random(number) % 26);
    text += std::to_string(next_random(number) % 1000) + " ";
  }
  return text;
}

}  // namespace smg::test
