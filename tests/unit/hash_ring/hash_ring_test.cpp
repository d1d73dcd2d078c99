#include "hash_ring.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "ring_support.hpp"

using namespace smg;
using namespace smg::test;

namespace {

constexpr int kKeys = 10'000;

std::string key_of(int i) {
  return "key-" + std::to_string(i);
}

// The definition, word by word.
std::map<std::uint64_t, std::string> definition(const std::vector<std::string>& urls) {
  std::map<std::uint64_t, std::string> nodes;
  for (const auto& url : urls) {
    for (int i = 0; i < 150; ++i) nodes[hash64(url + "#" + std::to_string(i))] = url;
  }
  return nodes;
}

}  // namespace

TEST_CASE("policies A: 150 positions for each worker, the hashes of URL#0 to URL#149") {
  CHECK(hash64("http://w1:8000#0") == 0xd1289b58dade5c57u);
  CHECK(hash64("http://w1:8000#149") == 0x21fba6cbc88227e0u);
  const HashRing ring = ring_of(worker_urls(3));
  CHECK(ring.worker_count() == 3);
  REQUIRE(ring.positions().size() == 450);
  CHECK(ring.positions().front() == 0x0074e32e019ae3d1u);
  CHECK(ring.owners().front() == 0);
  CHECK(ring.positions().back() == 0xffa424b1dfaf4098u);
  CHECK(ring.owners().back() == 2);
}

TEST_CASE("a ring is what the definition says") {
  const auto urls = worker_urls(40);
  const HashRing ring = ring_of(urls);
  const auto nodes = definition(urls);
  REQUIRE(ring.positions().size() == nodes.size());
  std::size_t i = 0;
  for (const auto& [position, url] : nodes) {
    CHECK(ring.positions()[i] == position);
    CHECK(urls[ring.owners()[i]] == url);
    ++i;
  }
  for (int k = 0; k < kKeys; ++k) {
    auto node = nodes.lower_bound(hash64(key_of(k)));
    if (node == nodes.end()) node = nodes.begin();
    CHECK(urls[owner_of(ring, key_of(k))] == node->second);
  }
}

TEST_CASE("a key at a position belongs there, one behind the last to the first") {
  const HashRing ring = ring_of(worker_urls(3));
  Visited visited;
  const auto any = [](std::uint32_t) { return true; };
  for (std::size_t i = 0; i < ring.positions().size(); ++i) {
    CHECK(ring.find(ring.positions()[i], visited, any) == ring.owners()[i]);
    CHECK(ring.find(ring.positions()[i] + 1, visited, any) == ring.owners()[(i + 1) % 450]);
  }
}

TEST_CASE("a walk asks each worker once, in the order of their first positions") {
  const auto urls = worker_urls(60);
  const HashRing ring = ring_of(urls);
  for (int k = 0; k < 200; ++k) {
    const auto walk = walk_of(ring, key_of(k));
    CHECK(walk.size() == 60);
    CHECK(std::set(walk.begin(), walk.end()).size() == 60);
    const auto from = static_cast<std::size_t>(
        std::lower_bound(ring.positions().begin(), ring.positions().end(), hash64(key_of(k))) -
        ring.positions().begin());
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < ring.owners().size(); ++i) {
      const std::uint32_t member = ring.owners()[(from + i) % ring.owners().size()];
      if (std::find(expected.begin(), expected.end(), member) == expected.end()) {
        expected.push_back(member);
      }
    }
    CHECK(walk == expected);
  }
}

TEST_CASE("an empty ring has no owner") {
  Visited visited;
  CHECK_FALSE(HashRing().find(1, visited, [](std::uint32_t) { return true; }));
  CHECK(HashRing().worker_count() == 0);
}

TEST_CASE("a URL that stands twice counts once, with its first index") {
  auto urls = worker_urls(3);
  urls.push_back(urls[1]);
  urls.push_back(urls[0]);
  const HashRing ring = ring_of(urls);
  CHECK(ring.worker_count() == 3);
  CHECK(ring.positions().size() == 450);
  const HashRing plain = ring_of(worker_urls(3));
  for (int k = 0; k < 1000; ++k) {
    CHECK(walk_of(ring, key_of(k)) == walk_of(plain, key_of(k)));
  }
  CHECK(ring_of(urls, plain) == ring);
  CHECK(ring_of(worker_urls(3), ring) == plain);
}

TEST_CASE("an updated ring equals one made from nothing, after any churn") {
  Draw draw(1);
  std::vector<std::string> urls;
  HashRing ring;
  for (int round = 0; round < 400; ++round) {
    for (std::uint32_t change = draw.below(4); change > 0; --change) {
      if (!urls.empty() && draw.below(2) == 0) {
        urls.erase(urls.begin() + draw.below(static_cast<std::uint32_t>(urls.size())));
      } else {
        urls.push_back(worker_url(draw.below(50)));  // now and then one that is there already
      }
    }
    if (urls.size() > 1 && draw.below(8) == 0) std::swap(urls.front(), urls.back());
    ring = ring_of(urls, ring);
    REQUIRE(ring == ring_of(urls));
  }
}

TEST_CASE(
    "policies A6: a worker that comes takes its share of the keys, and none moves elsewhere") {
  for (const std::uint32_t count : {3u, 9u, 30u}) {
    const HashRing before = ring_of(worker_urls(count));
    const HashRing after = ring_of(worker_urls(count + 1), before);
    int moved = 0;
    for (int k = 0; k < kKeys; ++k) {
      const std::uint32_t owner = owner_of(after, key_of(k));
      if (owner == owner_of(before, key_of(k))) continue;
      ++moved;
      CHECK(owner == count);
    }
    const double share = kKeys / (count + 1.0);
    CHECK(moved > 0.75 * share);
    CHECK(moved < 1.25 * share);
    if (count == 3) CHECK(moved == 2456);
  }
}

TEST_CASE("policies A6: the shares of three workers") {
  const HashRing ring = ring_of(worker_urls(3));
  std::vector<int> keys(3);
  for (int k = 0; k < kKeys; ++k) ++keys[owner_of(ring, key_of(k))];
  CHECK(keys == std::vector{3247, 2819, 3934});
}

TEST_CASE("a worker that goes leaves its keys to whom they go while it may not be chosen") {
  const auto urls = worker_urls(12);
  const HashRing ring = ring_of(urls);
  Visited visited;
  for (std::uint32_t gone = 0; gone < urls.size(); ++gone) {
    auto left = urls;
    left.erase(left.begin() + gone);
    const HashRing smaller = ring_of(left, ring);
    for (int k = 0; k < 2000; ++k) {
      const auto next = ring.find(hash64(key_of(k)), visited,
                                  [&](std::uint32_t member) { return member != gone; });
      CHECK(urls[next.value()] == left[owner_of(smaller, key_of(k))]);
      const std::uint32_t owner = owner_of(ring, key_of(k));
      if (owner != gone) CHECK(next == owner);
    }
  }
}

TEST_CASE("marks of walks long ago are forgotten") {
  Visited visited;
  visited.restart(2);
  CHECK(visited.add(1));
  CHECK_FALSE(visited.add(1));
  visited.restart(2);
  CHECK(visited.add(1));
  visited.restart(5);
  CHECK(visited.add(4));
  CHECK(visited.add(1));
}
