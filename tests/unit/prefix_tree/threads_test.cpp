// Many threads in one tree. Set SMG_PREFIX_TREE_SECONDS for a longer run than that of the suite.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

constexpr uint32_t kThreads = 8;

double seconds() {
  const char* given = std::getenv("SMG_PREFIX_TREE_SECONDS");
  return given != nullptr ? std::atof(given) : 2;
}

template <class Body>
void on_threads(uint32_t count, Body body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// Conversations: a few common beginnings, each with turns that differ more and more.
std::string text(Numbers& numbers, uint64_t most_turns) {
  std::string result = "system prompt " + std::to_string(numbers.below(4)) + ": ";
  result.append(200, '-');
  for (uint64_t turns = numbers.below(most_turns + 1); turns > 0; --turns) {
    result += "tour n° " + std::to_string(numbers.below(7));
    result.append(numbers.below(3) * 40, '.');
  }
  return result;
}

std::vector<uint32_t> tokens(Numbers& numbers) {
  std::vector<uint32_t> result(16, static_cast<uint32_t>(numbers.below(4)));
  for (uint64_t turns = numbers.below(24); turns > 0; --turns) {
    result.push_back(static_cast<uint32_t>(numbers.below(2)));
  }
  return result;
}

template <class Tree, class Make>
void churn(Tree& tree, Make make) {
  constexpr uint32_t kSlots = 24;
  constexpr uint32_t kSlotsOfThread = kSlots / kThreads;
  std::array<std::atomic<uint32_t>, kSlots> generation{};
  const auto now = [&](uint32_t slot) { return Tenant{slot, generation[slot].load()}; };
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    generation[slot] = 1;
    tree.add_tenant(now(slot));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds() / 2);
  std::atomic<uint64_t> wrong{0};
  on_threads(kThreads, [&](uint32_t thread) {
    Numbers numbers(thread);
    while (std::chrono::steady_clock::now() < end) {
      const auto input = make(numbers);
      const Tenant tenant = now(static_cast<uint32_t>(numbers.below(kSlots)));
      const uint64_t what = numbers.below(1000);
      if (what < 700) {
        tree.match_and_insert(input, anyone, numbers.next(), [&](const Match& found) {
          if (found.matched > found.input) ++wrong;
          const bool stay = found.tenant_count > 0 && numbers.below(2) == 0;
          return std::optional(stay ? found.tenants[0] : tenant);
        });
      } else if (what < 900) {
        const Match found = tree.match(input, anyone, numbers.next());
        if (found.matched > found.input) ++wrong;
      } else if (what < 980) {
        tree.insert(input, tenant);
      } else if (what < 990) {
        tree.evict(tree.size() * numbers.below(100) / 100);
      } else {
        // Only this thread lets these leave and come.
        const uint32_t slot =
            thread * kSlotsOfThread + static_cast<uint32_t>(numbers.below(kSlotsOfThread));
        const Tenant leaving = now(slot);
        tree.remove_tenant(leaving);
        if (tree.size(leaving) != 0) ++wrong;
        const auto it = [&](Tenant other) { return other == leaving; };
        if (tree.match(input, it, numbers.next()).tenant_count != 0) ++wrong;
        ++generation[slot];
        tree.add_tenant(now(slot));
      }
    }
  });
  CHECK(wrong == 0);
  std::vector<Tenant> tenants;
  for (uint32_t slot = 0; slot < kSlots; ++slot) tenants.push_back(now(slot));
  CHECK(books_are_right(tree, tenants));
  tree.evict(tree.size() / 2);
  CHECK(books_are_right(tree, tenants));
  for (const Tenant tenant : tenants) tree.remove_tenant(tenant);
  CHECK(tree.size() == 0);
  CHECK(tree.recount().nodes == 0);
}

}  // namespace

TEST_CASE("the books of a text tree are right after eight threads have used it") {
  StringTree tree;
  churn(tree, [](Numbers& numbers) { return text(numbers, 5); });
}

TEST_CASE("the books of a token tree are right after eight threads have used it") {
  TokenTree tree(2u);
  churn(tree, tokens);
}

TEST_CASE("what a thread has inserted it finds, whatever others do with the same nodes") {
  constexpr int kRounds = 3000;
  StringTree tree;
  for (uint32_t slot = 0; slot < kThreads; ++slot) tree.add_tenant({slot, 1});
  std::atomic<int> missed{0};
  on_threads(kThreads, [&](uint32_t thread) {
    const Tenant own{thread, 1};
    Numbers numbers(thread);
    for (int i = 0; i < kRounds; ++i) {
      std::string input;
      for (uint64_t size = numbers.below(14); size > 0; --size) {
        input += numbers.below(2) == 0 ? "é" : "b";
      }
      tree.insert(input, own);
      const Match found = look_up(tree, input);
      if (found.matched != found.input) ++missed;
      if (found.input > 0 && !names(found, own)) ++missed;
    }
  });
  CHECK(missed == 0);
  CHECK(tree.recount().faults == 0);
}

TEST_CASE("inserts that race with the removal of their tenant leave no trace of it") {
  constexpr uint32_t kRounds = 50;
  constexpr Tenant steady{1, 1};
  StringTree tree;
  tree.add_tenant(steady);
  std::atomic<uint32_t> generation{1};
  std::atomic<bool> stop{false};
  std::atomic<int> traces{0};
  tree.add_tenant({0, 1});
  on_threads(4, [&](uint32_t thread) {
    Numbers numbers(thread);
    if (thread > 0) {
      while (!stop)
        tree.insert(text(numbers, 2), numbers.below(4) == 0 ? steady : Tenant{0, generation});
      return;
    }
    for (uint32_t round = 1; round <= kRounds; ++round) {
      const Tenant leaving{0, round};
      while (tree.size(leaving) < 1000) std::this_thread::yield();
      tree.remove_tenant(leaving);
      const Census census = tree.recount();
      if (census.by_slot.contains(0) || census.faults > 0) ++traces;
      if (tree.size(leaving) != 0) ++traces;
      generation = round + 1;
      tree.add_tenant({0, round + 1});
    }
    stop = true;
  });
  CHECK(traces == 0);
}

TEST_CASE("memory that a reader may see is not freed before it has ended") {
  Grace grace;
  Garbage garbage;
  {
    const Grace::Reader reader(grace);
    grace.retire(::operator new(1));
    grace.take(garbage, 10, true);
    CHECK(garbage.empty());
    const Grace::Reader later(grace);
    grace.take(garbage, 10, true);
    CHECK(garbage.empty());
  }
  const Grace::Reader new_one(grace);
  grace.take(garbage, 10, true);
  CHECK_FALSE(garbage.empty());
}
