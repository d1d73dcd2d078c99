// What a tree writes, another one reads: the same answers, the same order of eviction; and bytes
// that no tree wrote do no harm.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "smg/cpp/handover.hpp"
#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

constexpr uint32_t kTenants = 6;

struct Collected {
  std::string bytes;
  smg_state_writer raw{
      sizeof raw, 0, &bytes, [](const smg_state_writer* writer, const void* data, uint64_t size) {
        static_cast<std::string*>(writer->context)->append(static_cast<const char*>(data), size);
        return SMG_OK;
      }};
};

// Tenant {slot, generation} has the slot as its number, if below kTenants.
std::optional<uint32_t> number_of(Tenant tenant) {
  return tenant.slot < kTenants ? std::optional(tenant.slot) : std::nullopt;
}

template <class Tree>
std::string exported(const Tree& tree) {
  Collected collected;
  smg::StateWriter writer(collected.raw);
  tree.export_state(writer, number_of);
  writer.flush();
  return collected.bytes;
}

// The same workers in other slots.
std::vector<Tenant> others() {
  std::vector<Tenant> tenants;
  for (uint32_t i = 0; i < kTenants; ++i) tenants.push_back({2 * kTenants - i, 40 + i});
  return tenants;
}

template <class Tree>
void import_all(Tree& tree, std::string_view state, const std::vector<Tenant>& tenants) {
  smg::StateReader reader(state);
  tree.import_state(reader, tenants);
  reader.end();
}

struct Texts {
  using Tree = StringTree;
  static Tree make() { return Tree(); }
  static std::string input(Numbers& numbers) {
    std::string text = "système " + std::to_string(numbers.below(3));
    for (uint64_t turns = numbers.below(6); turns > 0; --turns) {
      text += "字 " + std::to_string(numbers.below(9)) + std::string(numbers.below(3) * 20, '.');
    }
    return text;
  }
};

struct Pages {
  using Tree = TokenTree;
  static Tree make() { return Tree(4u); }
  static std::vector<uint32_t> input(Numbers& numbers) {
    std::vector<uint32_t> tokens(4, static_cast<uint32_t>(numbers.below(3)));
    for (uint64_t more = numbers.below(40); more > 0; --more) {
      tokens.push_back(static_cast<uint32_t>(numbers.below(2)));
    }
    return tokens;
  }
};

template <class Kind>
void grow(typename Kind::Tree& tree, Numbers& numbers, int inputs) {
  for (int i = 0; i < inputs; ++i) {
    tree.insert(Kind::input(numbers), {static_cast<uint32_t>(numbers.below(kTenants)), 1});
  }
}

template <class Tree>
void populate(Tree& tree) {
  for (uint32_t slot = 0; slot < kTenants; ++slot) tree.add_tenant({slot, 1});
}

std::set<uint32_t> numbers_in(const Match& found, const std::vector<Tenant>& tenants) {
  std::set<uint32_t> numbers;
  for (const Tenant holder : found.holders()) {
    for (uint32_t i = 0; i < tenants.size(); ++i) {
      if (tenants[i] == holder) numbers.insert(i);
    }
  }
  return numbers;
}

const std::vector<Tenant>& originals() {
  static const std::vector<Tenant> tenants = [] {
    std::vector<Tenant> made;
    for (uint32_t slot = 0; slot < kTenants; ++slot) made.push_back({slot, 1});
    return made;
  }();
  return tenants;
}

template <class Tree>
void check_same_answer(Tree& before, Tree& after, typename Tree::Input input, bool shared_too) {
  const Match a = look_up(before, input);
  const Match b = look_up(after, input);
  CHECK(a.matched == b.matched);
  CHECK(a.input == b.input);
  if (shared_too) CHECK(a.shared == b.shared);
  CHECK(numbers_in(a, originals()) == numbers_in(b, others()));
}

template <class Kind>
void check_round_trip(uint64_t seed, bool evict) {
  Numbers numbers(seed);
  auto before = Kind::make();
  populate(before);
  grow<Kind>(before, numbers, 400);
  if (evict) before.evict(before.size() / 2);
  auto after = Kind::make();
  for (const Tenant tenant : others()) after.add_tenant(tenant);
  import_all(after, exported(before), others());
  CHECK(after.size() == before.size());
  CHECK(after.recount().nodes == before.recount().nodes);
  CHECK(books_are_right(after, others()));
  for (int i = 0; i < 400; ++i) {
    check_same_answer(before, after, Kind::input(numbers), !evict);
  }
  // The same goes first: after an eviction they still agree.
  for (const uint64_t part : {3, 2, 1}) {
    const uint64_t budget = before.size() * part / 4;
    before.evict(budget);
    after.evict(budget);
    CHECK(after.size() == before.size());
    for (int i = 0; i < 100; ++i) check_same_answer(before, after, Kind::input(numbers), false);
  }
  // It grows, and forgets, as one that nothing was given to.
  for (int i = 0; i < 200; ++i) {
    after.insert(Kind::input(numbers), others()[numbers.below(kTenants)]);
  }
  CHECK(books_are_right(after, others()));
  for (const Tenant tenant : others()) after.remove_tenant(tenant);
  CHECK(after.recount().nodes == 0);
}

}  // namespace

TEST_CASE("a tree that was handed over answers and evicts as the one before it") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    check_round_trip<Texts>(seed, false);
    check_round_trip<Pages>(seed, false);
    check_round_trip<Texts>(seed, true);
    check_round_trip<Pages>(seed, true);
  }
}

TEST_CASE("what is used after a hand-over is newer than all that was handed over") {
  StringTree tree;
  tree.add_tenant({0, 1});
  // "old", last used at epoch 1 << 40.
  Collected collected;
  smg::StateWriter writer(collected.raw);
  writer.number(1);
  writer.text("old");
  for (const uint64_t value : {uint64_t{1}, uint64_t{0}, uint64_t{1} << 40, uint64_t{0}}) {
    writer.number(value);
  }
  writer.flush();
  const std::vector<Tenant> tenants{{0, 1}};
  import_all(tree, collected.bytes, tenants);
  tree.insert("new", {0, 1});
  tree.evict(3);
  CHECK(look_up(tree, "old").matched == 0);
  CHECK(look_up(tree, "new").matched == 3);
}

TEST_CASE("tenants that are not known here are left out, and what nobody else holds with them") {
  StringTree before;
  populate(before);
  before.insert("shared beginning, one", {0, 1});
  before.insert("shared beginning, two", {1, 1});
  before.insert("alone", {1, 1});
  StringTree after;
  after.add_tenant({7, 3});
  // Number 1 is nobody, one that has left, or beyond the list.
  for (const auto& tenants : {std::vector<Tenant>{{7, 3}, {}}, std::vector<Tenant>{{7, 3}, {8, 1}},
                              std::vector<Tenant>{{7, 3}}}) {
    import_all(after, exported(before), tenants);
    CHECK(after.size() == 21);
    CHECK(look_up(after, "shared beginning, two").matched == 18);
    CHECK(look_up(after, "alone").matched == 0);
    CHECK(books_are_right(after, {Tenant{7, 3}}));
    after.evict(0);
  }
}

TEST_CASE("tenants without a number are not written") {
  StringTree tree;
  populate(tree);
  tree.add_tenant({kTenants, 1});
  tree.insert("nobody's", {kTenants, 1});
  CHECK(exported(tree) == std::string(1, '\0'));
}

TEST_CASE("what comes twice, or without its parent's holder, is left out") {
  Collected collected;
  smg::StateWriter writer(collected.raw);
  const auto node = [&](uint64_t level, std::string_view label, std::vector<uint64_t> holders) {
    writer.number(level);
    writer.text(label);
    writer.number(holders.size());
    for (const uint64_t number : holders) {
      writer.number(number);
      writer.number(5);
    }
  };
  node(1, "ab", {0, 0, 1});
  node(2, "cd", {2, 1});  // 2 is no holder of "ab"
  node(1, "ax", {0});     // another "a..."
  node(2, "yz", {0});
  node(1, "q", {});
  node(2, "r", {0});
  node(1, "s", {2});
  writer.number(0);
  writer.flush();
  StringTree tree;
  populate(tree);
  import_all(tree, collected.bytes, originals());
  CHECK(books_are_right(tree, originals()));
  CHECK(tree.size({0, 1}) == 2);
  CHECK(tree.size({1, 1}) == 4);
  CHECK(tree.size({2, 1}) == 1);
  CHECK(tree.recount().nodes == 3);
}

TEST_CASE("a tree in a tree that is not empty adds what is not there") {
  StringTree before, after;
  populate(before);
  populate(after);
  before.insert("alpha", {0, 1});
  before.insert("beta", {0, 1});
  after.insert("alphabet", {1, 1});
  import_all(after, exported(before), originals());
  CHECK(books_are_right(after, originals()));
  CHECK(names_only(look_up(after, "alphabet"), {{1, 1}}));
  CHECK(names_only(look_up(after, "beta"), {{0, 1}}));
}

TEST_CASE("levels beyond the deepest that a walk reaches are left out") {
  Collected collected;
  smg::StateWriter writer(collected.raw);
  for (uint64_t level = 1; level <= 2000; ++level) {
    writer.number(level);
    writer.text("a");
    for (const uint64_t value : {1, 0, 1}) writer.number(value);
  }
  writer.number(0);
  writer.flush();
  StringTree tree;
  populate(tree);
  import_all(tree, collected.bytes, originals());
  CHECK(tree.size() == 512);
  CHECK(look_up(tree, std::string(3000, 'a')).matched == 512);
}

TEST_CASE("labels that no tree could look up are refused") {
  const auto refusal = [](auto& tree, std::string_view label) {
    Collected collected;
    smg::StateWriter writer(collected.raw);
    writer.number(1);
    writer.text(label);
    for (const uint64_t value : {1, 0, 1, 0}) writer.number(value);
    writer.flush();
    try {
      import_all(tree, collected.bytes, originals());
    } catch (const smg::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  StringTree texts;
  TokenTree pages(4u);
  populate(texts);
  populate(pages);
  CHECK(refusal(texts, "").find("no tree keeps a label of 0 bytes") != std::string::npos);
  CHECK(refusal(pages, std::string(17, 'x')).find("label of 17 bytes") != std::string::npos);
  CHECK(refusal(pages, std::string(12, 'x')).find("label of 12 bytes") != std::string::npos);
  CHECK(refusal(pages, std::string(16, 'x')).empty());
}

TEST_CASE("every beginning of a state is refused, every changed byte refused or harmless") {
  Numbers numbers(5);
  StringTree texts;
  TokenTree pages(4u);
  populate(texts);
  populate(pages);
  grow<Texts>(texts, numbers, 30);
  grow<Pages>(pages, numbers, 30);
  const auto attempt = [](auto& tree, const std::string& state) {
    bool refused = false;
    try {
      import_all(tree, state, originals());
    } catch (const smg::Error&) {
      refused = true;
    }
    REQUIRE(books_are_right(tree, originals()));
    tree.evict(0);
    REQUIRE(tree.recount().nodes == 0);
    return refused;
  };
  const auto torment = [&](auto& tree) {
    const std::string state = exported(tree);
    tree.evict(0);
    for (std::size_t size = 0; size < state.size(); ++size) {
      REQUIRE(attempt(tree, state.substr(0, size)));
    }
    for (int i = 0; i < 5000; ++i) {
      std::string changed = state;
      for (uint64_t flips = 1 + numbers.below(3); flips > 0; --flips) {
        changed[numbers.below(changed.size())] ^= static_cast<char>(1u << numbers.below(8));
      }
      attempt(tree, changed);
    }
  };
  torment(texts);
  torment(pages);
}

TEST_CASE("a tree is written while eight threads use it") {
  constexpr uint32_t kThreads = 8;
  constexpr int kRounds = 10;
  StringTree tree;
  populate(tree);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Numbers numbers(thread);
      while (!stop) {
        const Tenant tenant{static_cast<uint32_t>(numbers.below(kTenants)), 1};
        // One of 300, so that the tree stays small.
        Numbers which(numbers.below(300));
        const std::string input = Texts::input(which);
        if (thread == 0 && numbers.below(50) == 0) {
          tree.evict(tree.size() / 2);
        } else if (numbers.below(2) == 0) {
          tree.insert(input, tenant);
        } else {
          tree.match_and_insert(input, anyone, numbers.next(),
                                [&](const Match&) { return std::optional(tenant); });
        }
      }
    });
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int filled = 0;
  bool right = true;
  while (right && filled < kRounds && std::chrono::steady_clock::now() < deadline) {
    StringTree after;
    populate(after);
    import_all(after, exported(tree), originals());
    right = books_are_right(after, originals());
    filled += after.size() > 0 ? 1 : 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(right);
  CHECK(filled == kRounds);
  CHECK(books_are_right(tree, originals()));
}
