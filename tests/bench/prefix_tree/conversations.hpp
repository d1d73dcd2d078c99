// What the trees are measured with: conversations that share a system prompt in groups, and grow.
//
// A prompt of a conversation is its history, which the tree has seen, and a tail of an eighth of
// its length that is new. Workers are chosen by affinity: the first holder that the match names if
// more than 0.3 is known, else any.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "prefix_tree.hpp"

namespace smg::prefix_tree::bench {

constexpr uint32_t kWorkers = 16;
constexpr uint64_t kTreeUnits = 64 << 20;

// Numbers that are the same in every run (splitmix64).
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

inline void set_unit(char& unit, uint64_t number) {
  unit = static_cast<char>('a' + number % 26);
}
inline void set_unit(uint32_t& unit, uint64_t number) {
  unit = static_cast<uint32_t>(number % 128'000);
}

// Memory in use, with what the allocator adds to each piece.
inline uint64_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

template <class Tree>
class Conversations {
 public:
  using Unit = typename std::remove_const_t<typename Tree::Input::value_type>;
  using Prompt = std::vector<Unit>;

  explicit Conversations(std::size_t units) : units_(units) {
    for (uint32_t slot = 0; slot < kWorkers; ++slot) tree_.add_tenant({slot, 1});
  }

  // Begins conversations until the tree is as large. Returns bytes per unit.
  double fill(uint64_t tree_units) {
    const uint64_t size_before = tree_.size();
    const uint64_t before = allocated();
    Prompt prompt(units_);
    while (tree_.size() < tree_units) {
      write(prompt, begun_);
      decide(prompt, begun_++);
    }
    return static_cast<double>(allocated() - before) /
           static_cast<double>(tree_.size() - size_before);
  }

  // The next prompt of a conversation that the tree has seen: known but for the last eighth.
  void next_turn(Prompt& prompt, Numbers& numbers) const {
    prompt.resize(units_);
    write(prompt, numbers.next() % begun_);
    Numbers tail(numbers.next());
    for (std::size_t i = units_ - units_ / 8; i < units_; ++i) set_unit(prompt[i], tail.next());
  }

  std::optional<Tenant> decide(const Prompt& prompt, uint64_t random) {
    return tree_.match_and_insert(
        typename Tree::Input(prompt.data(), prompt.size()), [](Tenant) { return true; }, random,
        [&](const Match& found) {
          const bool known = found.tenant_count > 0 && found.matched * 10 > found.input * 3;
          return std::optional(known ? found.tenants[0]
                                     : Tenant{static_cast<uint32_t>(random % kWorkers), 1});
        });
  }

  Tree& tree() { return tree_; }

 private:
  // A quarter is the system prompt of one in 16 groups.
  void write(Prompt& prompt, uint64_t id) const {
    Numbers system(id % 16);
    Numbers rest(id + 1000);
    for (std::size_t i = 0; i < units_; ++i) {
      set_unit(prompt[i], i < units_ / 4 ? system.next() : rest.next());
    }
  }

  const std::size_t units_;
  Tree tree_;
  uint64_t begun_ = 0;
};

// Times of single calls, in nanoseconds.
class Times {
 public:
  template <class Body>
  void measure(Body body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const auto end = std::chrono::steady_clock::now();
    times_.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
  }
  double last() const { return times_.back(); }
  double quantile(double share) {
    std::sort(times_.begin(), times_.end());
    const auto at = static_cast<std::size_t>(share * static_cast<double>(times_.size()));
    return times_[std::min(at, times_.size() - 1)];
  }
  std::size_t size() const { return times_.size(); }

 private:
  std::vector<double> times_;
};

}  // namespace smg::prefix_tree::bench
