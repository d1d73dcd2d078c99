// What a reload in the middle of a workload costs in cache hits, with the state handed over and
// without. Engines are simulated: each remembers the blocks of all prompts that it was sent.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "handover.hpp"
#include "rig.hpp"

using namespace smg::test;

namespace {

constexpr std::uint32_t kWorkers = 8;
constexpr int kWarmUp = 3000;  // requests
constexpr int kWindow = 500;

// Conversations under four system prompts, from 4 to 10 turns, of which the next one to speak is
// any. The same in every run.
class Workload {
 public:
  std::string next() {
    std::string& text = conversations_[below(conversations_.size())];
    if (text.size() > turns_end_) text.clear();
    if (text.empty()) text = std::string(600, static_cast<char>('A' + below(4)));
    for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + below(26));
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t bound) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % bound;
  }

  std::array<std::string, 200> conversations_;
  std::size_t turns_end_ = 600 + 9 * 400;
  std::uint64_t random_ = 42;
};

class Engine {
 public:
  // Blocks of the prompt that were there already.
  std::size_t take(const std::string& prompt) {
    std::size_t hits = 0;
    for (std::size_t end = kBlock; end <= prompt.size(); end += kBlock) {
      const bool known =
          !blocks_.insert(std::hash<std::string_view>()({prompt.data(), end})).second;
      hits += known ? 1 : 0;
    }
    return hits;
  }
  static std::size_t blocks(const std::string& prompt) { return prompt.size() / kBlock; }

 private:
  static constexpr std::size_t kBlock = 64;
  std::unordered_set<std::size_t> blocks_;
};

enum class Reload { none, with_state, without_state };

struct HitRates {
  double before = 0, after = 0;
};

HitRates run(Reload reload) {
  Rig rig(kWorkers);
  Workload workload;
  std::vector<Engine> engines(kWorkers);
  const auto rate = [&](int requests) {
    std::size_t hits = 0, blocks = 0;
    for (int i = 0; i < requests; ++i) {
      const std::string prompt = workload.next();
      hits += engines[rig.text(prompt).value()].take(prompt);
      blocks += Engine::blocks(prompt);
    }
    return static_cast<double>(hits) / static_cast<double>(blocks);
  };
  rate(kWarmUp);
  HitRates rates;
  rates.before = rate(kWindow);
  if (reload != Reload::none) {
    auto next = std::make_unique<LoadedPolicy>(SMG_CACHE_AWARE, rig.host);
    next->pool_changed(nullptr, rig.pool->raw());
    if (reload == Reload::with_state) {
      const std::string state = export_state(rig.policy->plugin(), rig.policy->self());
      REQUIRE(import_state(next->plugin(), next->self(), state).status == SMG_OK);
    }
    rig.policy = std::move(next);
  }
  rates.after = rate(kWindow);
  return rates;
}

}  // namespace

TEST_CASE("a reload with hand-over keeps the hit rate, one without loses it for a while") {
  const HitRates none = run(Reload::none);
  const HitRates with_state = run(Reload::with_state);
  const HitRates without = run(Reload::without_state);
  MESSAGE("cache hits of the " << kWindow << " requests before and after: no reload " << none.before
                               << ", " << none.after << "; with hand-over " << with_state.before
                               << ", " << with_state.after << "; without " << without.before << ", "
                               << without.after);
  CHECK(with_state.after > none.after - 0.01);
  CHECK(without.after < none.after - 0.1);
}
