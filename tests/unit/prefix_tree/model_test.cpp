// Random operations against a model that is too simple to be wrong: for each tenant the set of all
// beginnings that it holds. Eviction is checked by what it promises.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "support.hpp"

namespace {

using namespace smg::prefix_tree;
using namespace smg::prefix_tree::test;

// What is inserted, in letters; each stands for a character or for a page.
using Letters = std::string;

struct TextTrial {
  using Tree = StringTree;
  static constexpr uint64_t kUnits = 1;  // of a letter

  Tree tree;

  static std::string input(const Letters& letters) {
    static const std::string characters[] = {"a", "é", "è", "字", "😀"};
    std::string text;
    for (const char letter : letters) text += characters[letter - 'a'];
    return text;
  }
};

struct TokenTrial {
  using Tree = TokenTree;
  static constexpr uint64_t kUnits = 3;

  Tree tree{3u};

  static std::vector<uint32_t> input(const Letters& letters) {
    std::vector<uint32_t> tokens;
    for (const char letter : letters) {
      const auto token = static_cast<uint32_t>(letter);
      tokens.insert(tokens.end(), {token / 2, 7, token});
    }
    return tokens;
  }
};

constexpr uint32_t kSlots = 12;

struct Holdings {
  std::set<Letters> beginnings;
  std::map<Letters, uint64_t> texts;  // the time of their last insert

  void insert(const Letters& letters, uint64_t time) {
    for (std::size_t size = 1; size <= letters.size(); ++size) {
      beginnings.insert(letters.substr(0, size));
    }
    if (!letters.empty()) texts[letters] = time;
  }
  bool is_end(const Letters& text) const {
    const auto next = std::next(beginnings.find(text));
    return next == beginnings.end() || !next->starts_with(text);
  }
};

template <class Trial>
class Model {
 public:
  explicit Model(uint64_t seed) : numbers_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const uint64_t what = numbers_.below(100);
      if (what < 45) {
        insert(letters(), any_tenant());
      } else if (what < 90) {
        check_match(letters());
      } else if (what < 94) {
        add(static_cast<uint32_t>(numbers_.below(kSlots)));
      } else if (what < 96) {
        remove(static_cast<uint32_t>(numbers_.below(kSlots)));
      } else {
        evict(trial_.tree.size() * numbers_.below(120) / 100);
      }
      if (i % 16 == 0) check_books();
    }
    check_books();
  }

 private:
  Letters letters() {
    Letters result;
    // Few letters, so that much is shared; now and then a long tail.
    const uint64_t size = numbers_.below(numbers_.below(8) == 0 ? 30 : 7);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t letter = numbers_.below(9);
      result += static_cast<char>('a' + (letter < 5 ? letter / 4 : letter - 4));
    }
    return result;
  }

  Tenant any_tenant() {
    const auto slot = static_cast<uint32_t>(numbers_.below(kSlots));
    // Sometimes one that has left.
    const uint32_t ago = numbers_.below(8) == 0 ? 1 : 0;
    return {slot, std::max(generation_[slot], 1u) - std::min(ago, generation_[slot])};
  }

  void insert(const Letters& letters, Tenant tenant) {
    ++time_;
    const auto input = Trial::input(letters);
    if (numbers_.below(2) == 0) {
      trial_.tree.insert(input, tenant);
    } else {
      trial_.tree.match_and_insert(input, anyone, kNoTouch,
                                   [&](const Match&) { return std::optional(tenant); });
    }
    const auto known = holdings_.find(tenant.slot);
    if (known == holdings_.end() || generation_[tenant.slot] != tenant.generation) return;
    known->second.insert(letters, time_);
  }

  void check_match(const Letters& letters) {
    std::size_t longest = 0;
    for (const auto& [slot, holding] : holdings_) {
      while (longest < letters.size() &&
             holding.beginnings.contains(letters.substr(0, longest + 1))) {
        ++longest;
      }
    }
    std::set<uint32_t> holders;
    for (const auto& [slot, holding] : holdings_) {
      if (holding.beginnings.contains(letters.substr(0, longest))) holders.insert(slot);
    }
    const Match found =
        trial_.tree.match(Trial::input(letters), anyone, numbers_.next() | kNoTouch);
    CAPTURE(letters);
    REQUIRE(found.matched == longest * Trial::kUnits);
    REQUIRE(found.input == letters.size() * Trial::kUnits);
    REQUIRE(found.tenant_count == std::min<std::size_t>(holders.size(), Match::kMaxTenants));
    std::set<uint32_t> named;
    for (const Tenant tenant : found.holders()) {
      named.insert(tenant.slot);
      REQUIRE(holders.contains(tenant.slot));
      REQUIRE(tenant.generation == generation_[tenant.slot]);
    }
    REQUIRE(named.size() == found.tenant_count);
  }

  void add(uint32_t slot) {
    if (holdings_.contains(slot)) return;
    trial_.tree.add_tenant({slot, ++generation_[slot]});
    holdings_[slot];
  }

  void remove(uint32_t slot) {
    trial_.tree.remove_tenant({slot, generation_[slot]});
    holdings_.erase(slot);
  }

  // It ends within the budget, takes away beginnings from their ends, and of two texts that nothing
  // follows it keeps the one that was used later.
  void evict(uint64_t budget) {
    const uint64_t before = trial_.tree.size();
    const uint64_t gone = trial_.tree.evict(budget);
    REQUIRE(trial_.tree.size() <= budget);
    REQUIRE(before - gone == trial_.tree.size());
    uint64_t latest_cut = 0;
    uint64_t earliest_kept = ~uint64_t{0};
    for (auto& [slot, holding] : holdings_) {
      const Tenant tenant{slot, generation_[slot]};
      Holdings left;
      for (const Letters& beginning : holding.beginnings) {
        if (holds(tenant, beginning)) left.beginnings.insert(beginning);
      }
      for (const auto& [text, time] : holding.texts) {
        if (left.beginnings.contains(text)) {
          left.texts[text] = time;
          if (holding.is_end(text)) earliest_kept = std::min(earliest_kept, time);
        } else {
          latest_cut = std::max(latest_cut, time);
        }
      }
      holding = std::move(left);
    }
    REQUIRE(latest_cut < earliest_kept);
  }

  bool holds(Tenant tenant, const Letters& beginning) {
    const Match found = trial_.tree.match(
        Trial::input(beginning), [&](Tenant other) { return other == tenant; }, kNoTouch);
    return found.matched == found.input && found.tenant_count == 1;
  }

  void check_books() {
    std::vector<Tenant> tenants;
    for (const auto& [slot, holding] : holdings_) {
      tenants.push_back({slot, generation_[slot]});
      REQUIRE(trial_.tree.size(tenants.back()) == holding.beginnings.size() * Trial::kUnits);
    }
    REQUIRE(trial_.tree.tenant_count() == holdings_.size());
    REQUIRE(books_are_right(trial_.tree, tenants));
  }

  Numbers numbers_;
  Trial trial_;
  uint64_t time_ = 0;
  std::map<uint32_t, uint32_t> generation_;
  std::map<uint32_t, Holdings> holdings_;  // by slot
};

}  // namespace

TEST_CASE("a text tree does what sets of beginnings do") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Model<TextTrial>(seed).run(1500);
  }
}

TEST_CASE("a token tree does what sets of beginnings do") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Model<TokenTrial>(seed).run(1500);
  }
}
