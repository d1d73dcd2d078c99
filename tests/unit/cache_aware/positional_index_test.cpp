// Sections 7.3 and 10.E of the policies page: the index of what engines hold.
#include "positional_index.hpp"

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "hashes.hpp"

using namespace cache_aware;

namespace {

using Ids = std::vector<uint32_t>;
using Hashes = std::vector<uint64_t>;

Ids count_up(uint32_t first, uint32_t last) {
  Ids ids(last - first + 1);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

struct Fleet {
  explicit Fleet(uint32_t count) : index(tenants) {
    for (uint32_t slot = 0; slot < count; ++slot) join(slot);
  }
  void join(uint32_t slot) {
    if (slot >= workers.size()) workers.resize(slot + 1);
    workers[slot] = tenants.add(slot, "w" + std::to_string(slot));
    all.insert(slot);
  }
  void leave(uint32_t slot) {
    tenants.remove(workers[slot], "w" + std::to_string(slot));
    index.forget(workers[slot]);
  }
  void stored(uint32_t slot, const Hashes& hashes, const Ids& ids,
              std::optional<uint64_t> parent = std::nullopt, uint32_t now = 100) {
    index.stored(workers[slot],
                 {.engine_hashes = hashes, .parent = parent, .tokens = ids, .block_size = 4}, now);
  }
  // Slot to leading blocks, of all that have any.
  std::map<uint32_t, uint32_t> scores(const Ids& prompt, uint32_t now = 100) {
    Hashes chain;
    hash_chain(prompt, 4, chain);
    index.find(chain, all, true, now, search);
    std::map<uint32_t, uint32_t> found;
    if (search.blocks == 0) return found;
    search.best.for_each([&](uint32_t slot) { found[slot] = search.blocks; });
    for (const Overlap& each : search.shorter) found[each.slot] = each.blocks;
    return found;
  }
  std::set<uint32_t> best(const Ids& prompt) {
    Hashes chain;
    hash_chain(prompt, 4, chain);
    index.find(chain, all, false, 100, search);
    std::set<uint32_t> found;
    if (search.blocks > 0) search.best.for_each([&](uint32_t slot) { found.insert(slot); });
    return found;
  }
  bool books_match() const {
    const PositionalIndex::Count count = index.recount();
    return count.entries == index.entries() && count.memberships == index.size();
  }

  Tenants tenants;
  PositionalIndex index;
  std::vector<Tenant> workers;
  SlotBits all;
  IndexSearch search;
};

using Scores = std::map<uint32_t, uint32_t>;

}  // namespace

TEST_CASE("policies E: content hashes and the chain of prefix hashes") {
  CHECK(content_hash(count_up(1, 4)) == 0xcb38e4d7fb2dca5c);
  CHECK(content_hash(count_up(5, 8)) == 0xe8d3ec39b907b74c);
  CHECK(content_hash(count_up(9, 12)) == 0x06b748f1777d599c);
  Hashes chain;
  hash_chain(count_up(1, 14), 4, chain);
  CHECK(chain == Hashes{0xcb38e4d7fb2dca5c, 0x44a2b2379d6d3c3d, 0xaea1e67a6c80cf84});
  hash_chain(count_up(1, 3), 4, chain);
  CHECK(chain.empty());
  hash_chain(count_up(1, 3), 0, chain);
  CHECK(chain.empty());
}

TEST_CASE("policies E1: scores are the consecutive leading blocks") {
  Fleet fleet(3);
  fleet.stored(0, {1, 2, 3}, count_up(1, 12));
  fleet.stored(1, {1, 2}, count_up(1, 8));
  CHECK(fleet.scores(count_up(1, 16)) == Scores{{0, 3}, {1, 2}});
  CHECK(fleet.scores(count_up(1, 8)) == Scores{{0, 2}, {1, 2}});
  CHECK(fleet.scores(count_up(1, 3)).empty());
}

TEST_CASE("policies E2: removing the last block shortens the overlap") {
  Fleet fleet(2);
  fleet.stored(0, {1, 2, 3}, count_up(1, 12));
  fleet.stored(1, {1, 2}, count_up(1, 8));
  fleet.index.removed(fleet.workers[0], Hashes{3});
  CHECK(fleet.scores(count_up(1, 12)) == Scores{{0, 2}, {1, 2}});
  CHECK(fleet.index.size() == 4);
}

TEST_CASE("policies E5: with an unknown parent a block begins a prompt") {
  Fleet fleet(1);
  fleet.stored(0, {3}, count_up(9, 12), 77);
  CHECK(fleet.scores(count_up(1, 12)).empty());
  CHECK(fleet.scores(count_up(9, 12)) == Scores{{0, 1}});
  // Once its parent is known it is put where it belongs, and the old place is given up.
  fleet.stored(0, {1, 2}, count_up(1, 8));
  fleet.stored(0, {3}, count_up(9, 12), 2);
  CHECK(fleet.scores(count_up(1, 12)) == Scores{{0, 3}});
  CHECK(fleet.scores(count_up(9, 12)).empty());
  CHECK(fleet.books_match());
}

TEST_CASE("policies E6: a block after another prefix is another block") {
  Fleet fleet(2);
  const Ids a = count_up(1, 4), b = count_up(5, 8), x = count_up(90, 93);
  Ids xb = x, ab = a;
  xb.insert(xb.end(), b.begin(), b.end());
  ab.insert(ab.end(), b.begin(), b.end());
  fleet.stored(0, {1}, a);
  fleet.stored(1, {1, 2}, xb);
  CHECK(fleet.scores(ab) == Scores{{0, 1}});
}

TEST_CASE("policies E7: pruning frees a tenth, oldest first, and spares what was just used") {
  Fleet fleet(1);
  for (uint32_t i = 0; i < 101; ++i) {
    fleet.stored(0, {1000 + i}, {i, i, i, i}, std::nullopt, 100 + i);
  }
  CHECK(fleet.index.prune(1000, 0, 101) == 0);
  CHECK(fleet.index.prune(1000, 0, 100) == 11);
  CHECK(fleet.index.entries() == 90);
  CHECK(fleet.scores({10, 10, 10, 10}).empty());
  CHECK(fleet.scores({11, 11, 11, 11}) == Scores{{0, 1}});
  CHECK(fleet.index.recount().handles == 90);
  CHECK(fleet.books_match());
}

TEST_CASE("policies E7: what was used within two seconds is never pruned for its number") {
  Fleet fleet(1);
  for (uint32_t i = 0; i < 101; ++i) fleet.stored(0, {1000 + i}, {i, i, i, i}, std::nullopt, 500);
  CHECK(fleet.index.prune(502, 0, 100) == 0);
  CHECK(fleet.index.prune(503, 0, 100) == 11);
}

TEST_CASE("what is not used for the time to live goes, and looking at it is use") {
  Fleet fleet(1);
  fleet.stored(0, {1}, count_up(1, 4));
  fleet.stored(0, {2}, count_up(5, 8));
  fleet.scores(count_up(1, 4), 150);
  CHECK(fleet.index.prune(160, 60, 0) == 0);
  CHECK(fleet.index.prune(161, 60, 0) == 1);
  CHECK(fleet.scores(count_up(1, 4)) == Scores{{0, 1}});
  CHECK(fleet.scores(count_up(5, 8)).empty());
  CHECK(fleet.books_match());
}

TEST_CASE("a duplicate does not count twice, blocks without tokens are left out") {
  Fleet fleet(1);
  fleet.stored(0, {1, 2}, count_up(1, 8));
  fleet.stored(0, {1, 2}, count_up(1, 8));
  CHECK(fleet.index.size() == 2);
  fleet.stored(0, {3, 4}, count_up(9, 14), 2);  // the fourth has two ids only
  CHECK(fleet.index.size() == 3);
  fleet.stored(0, {9}, {});
  CHECK(fleet.index.size() == 3);
}

TEST_CASE("a worker that left, and one that has its slot now, are different ones") {
  Fleet fleet(1);
  fleet.stored(0, {1}, count_up(1, 4));
  const Tenant gone = fleet.workers[0];
  fleet.leave(0);
  CHECK_FALSE(fleet.index.has_trace(0));
  CHECK(fleet.index.size() == 0);
  fleet.join(0);
  fleet.index.stored(gone, {.engine_hashes = Hashes{1}, .tokens = count_up(1, 4), .block_size = 4},
                     100);
  CHECK_FALSE(fleet.index.has_trace(0));
  fleet.stored(0, {5}, count_up(1, 4));
  fleet.index.cleared(gone);
  CHECK(fleet.index.size() == 1);
}

TEST_CASE("long prompts are found however far ahead the search looks") {
  Fleet fleet(3);
  const Ids prompt = count_up(1, 4 * 300);
  Hashes hashes(300);
  std::iota(hashes.begin(), hashes.end(), 1);
  for (const uint32_t length : {1u, 2u, 63u, 64u, 65u, 66u, 128u, 129u, 200u, 299u, 300u}) {
    fleet.index.cleared(fleet.workers[0]);
    fleet.index.cleared(fleet.workers[1]);
    fleet.stored(0, Hashes(hashes.begin(), hashes.begin() + length),
                 Ids(prompt.begin(), prompt.begin() + 4 * length));
    fleet.stored(1, {1}, count_up(1, 4));
    Scores expected{{0, length}, {1, 1}};
    CHECK(fleet.scores(prompt) == expected);
    CHECK(fleet.best(prompt) == (length > 1 ? std::set<uint32_t>{0} : std::set<uint32_t>{0, 1}));
  }
}

// Against a model that keeps for each worker the set of prompts' beginnings that it holds, in
// random order; caches drop the ends first, as engines do.
TEST_CASE("books equal a recount, and scores the truth, after any sequence of events") {
  constexpr uint32_t kWorkers = 70;  // more than a list of workers holds
  std::mt19937_64 random(7);
  Fleet fleet(kWorkers);
  // Each worker holds beginnings of a few prompts; engine hashes are numbers of its own.
  constexpr uint32_t kPrompts = 6, kBlocks = 80;
  std::vector<std::vector<uint32_t>> held(kWorkers, std::vector<uint32_t>(kPrompts, 0));
  const auto prompt = [](uint32_t number) {
    Ids ids = count_up(1, 4 * kBlocks);
    for (std::size_t i = 4 * 10; i < ids.size(); ++i) ids[i] += 1000 * number;  // 10 shared blocks
    return ids;
  };
  const auto handle = [](uint32_t worker, uint32_t number, uint32_t block) {
    return 1 + uint64_t{block < 10 ? 0 : number} * 1000 + block + uint64_t{worker} * 100000;
  };
  const auto shared = [&](uint32_t worker) {
    uint32_t most = 0;
    for (const uint32_t length : held[worker]) most = std::max(most, std::min(length, 10u));
    return most;
  };
  for (int step = 0; step < 6000; ++step) {
    const auto worker = static_cast<uint32_t>(random() % kWorkers);
    const auto number = static_cast<uint32_t>(random() % kPrompts);
    uint32_t& length = held[worker][number];
    const uint64_t kind = random() % 100;
    if (kind < 55) {
      const auto more =
          std::min<uint32_t>(kBlocks - length, static_cast<uint32_t>(1 + random() % 40));
      const Ids ids = prompt(number);
      Hashes hashes;
      for (uint32_t i = 0; i < more; ++i) hashes.push_back(handle(worker, number, length + i));
      fleet.stored(worker, hashes, Ids(ids.begin() + 4 * length, ids.begin() + 4 * (length + more)),
                   length > 0 ? std::optional(handle(worker, number, length - 1)) : std::nullopt);
      length += more;
    } else if (kind < 95) {
      // The shared beginning goes last, and only if no prompt needs it.
      const uint32_t floor = std::min(length, 10u);
      const uint32_t less =
          std::min<uint32_t>(length - floor, static_cast<uint32_t>(1 + random() % 40));
      Hashes hashes;
      for (uint32_t i = 0; i < less; ++i) hashes.push_back(handle(worker, number, --length));
      fleet.index.removed(fleet.workers[worker], hashes);
    } else if (kind < 98) {
      fleet.index.cleared(fleet.workers[worker]);
      held[worker].assign(kPrompts, 0);
    } else {
      fleet.leave(worker);
      held[worker].assign(kPrompts, 0);
      REQUIRE_FALSE(fleet.index.has_trace(worker));
      fleet.join(worker);
    }
    if (step % 50 != 0) continue;
    REQUIRE(fleet.books_match());
    uint64_t memberships = 0;
    Scores expected;
    for (uint32_t each = 0; each < kWorkers; ++each) {
      memberships += shared(each);
      for (const uint32_t l : held[each]) memberships += l > 10 ? l - 10 : 0;
      const uint32_t score = std::max(held[each][number], shared(each));
      if (score > 0) expected[each] = score;
    }
    REQUIRE(fleet.index.size() == memberships);
    REQUIRE(fleet.scores(prompt(number)) == expected);
    uint32_t most = 0;
    for (const auto& [slot, score] : expected) most = std::max(most, score);
    std::set<uint32_t> best;
    for (const auto& [slot, score] : expected) {
      if (score == most) best.insert(slot);
    }
    REQUIRE(fleet.best(prompt(number)) == best);
  }
  for (uint32_t worker = 0; worker < kWorkers; ++worker) fleet.leave(worker);
  CHECK(fleet.index.size() == 0);
  CHECK(fleet.index.entries() == 0);
  CHECK(fleet.index.recount().handles == 0);
}
