#include "smg/cpp/sticky_map.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

using smg::Pins;
using smg::StickyKey;
using smg::StickyMap;

namespace {

using Urls = std::vector<std::string>;

Urls urls(const Pins& pins) {
  Urls result;
  for (std::size_t i = 0; i < pins.size(); ++i) result.emplace_back(pins[i]);
  return result;
}

Urls peek(StickyMap& map, const StickyKey& key, std::uint64_t now = 0) {
  Urls result;
  map.visit(key, now, [&](const Pins& pins) { result = urls(pins); });
  return result;
}

void pin(StickyMap& map, const StickyKey& key, std::string_view url, std::uint64_t now = 0) {
  map.update(key, now, [&](Pins& pins) { pins.push_front(url); });
}

}  // namespace

TEST_CASE("pins: behind, and the first falls off") {
  Pins pins;
  CHECK(pins.empty());
  pins.append("w1");
  pins.append("w2");
  CHECK(urls(pins) == Urls{"w1", "w2"});
  pins.append("w3");
  CHECK(urls(pins) == Urls{"w2", "w3"});
  pins.append("w2");
  CHECK(urls(pins) == Urls{"w3", "w2"});
}

TEST_CASE("pins: to the front, and the last falls off") {
  Pins pins;
  pins.push_front("w1");
  pins.push_front("w1");
  CHECK(urls(pins) == Urls{"w1"});
  pins.push_front("w2");
  CHECK(urls(pins) == Urls{"w2", "w1"});
  pins.push_front("w1");
  CHECK(urls(pins) == Urls{"w1", "w2"});
  pins.push_front("w1");
  CHECK(urls(pins) == Urls{"w1", "w2"});
  pins.push_front("w3");
  CHECK(urls(pins) == Urls{"w3", "w1"});
}

TEST_CASE("sticky map: a key is scoped by model and leg, whatever its bytes are") {
  StickyMap map;
  const std::vector<StickyKey> keys = {{"m", SMG_LEG_SINGLE, "k"},  {"m", SMG_LEG_PREFILL, "k"},
                                       {"m", SMG_LEG_DECODE, "k"},  {"n", SMG_LEG_SINGLE, "k"},
                                       {"mk", SMG_LEG_SINGLE, ""},  {"", SMG_LEG_SINGLE, "mk"},
                                       {"m", SMG_LEG_SINGLE, "kk"}, {"mk", SMG_LEG_SINGLE, "k"}};
  for (std::size_t i = 0; i < keys.size(); ++i) pin(map, keys[i], std::to_string(i));
  CHECK(map.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    CHECK(peek(map, keys[i]) == Urls{std::to_string(i)});
}

TEST_CASE("sticky map: looking at a key that is not known leaves no entry") {
  StickyMap map;
  CHECK_FALSE(map.visit({"m", 0, "k"}, 1, [](const Pins&) { FAIL("called"); }));
  map.update({"m", 0, "k"}, 1, [](Pins& pins) { CHECK(pins.empty()); });
  CHECK(map.size() == 0);
}

TEST_CASE("sticky map: a call-back that throws leaves things as they were") {
  StickyMap map;
  CHECK_THROWS(map.update({"m", 0, "k"}, 1, [](Pins&) { throw 1; }));
  CHECK(map.size() == 0);
  pin(map, {"m", 0, "k"}, "w1");
  CHECK_THROWS(map.visit({"m", 0, "k"}, 1, [](const Pins&) { throw 1; }));
  CHECK(peek(map, {"m", 0, "k"}) == Urls{"w1"});
}

TEST_CASE("policies H7: idle for exactly the limit goes, strictly younger stays") {
  StickyMap map;
  pin(map, {"m", 0, "old"}, "w1", 100);
  pin(map, {"m", 0, "young"}, "w1", 101);
  CHECK(map.evict_idle(149, 50, 10) == 0);
  CHECK(map.evict_idle(150, 50, 10) == 1);
  CHECK(map.size() == 1);
  CHECK(peek(map, {"m", 0, "old"}) == Urls{});
  CHECK(peek(map, {"m", 0, "young"}, 140) == Urls{"w1"});  // refreshes it
  CHECK(map.evict_idle(189, 50, 10) == 0);
  CHECK(map.evict_idle(190, 50, 10) == 1);
  CHECK(map.size() == 0);
}

TEST_CASE("sticky map: a time that runs back makes nobody older") {
  StickyMap map;
  pin(map, {"m", 0, "k"}, "w1", 100);
  pin(map, {"m", 0, "k"}, "w1", 20);
  CHECK(map.evict_idle(90, 50, 10) == 0);
  CHECK(map.evict_idle(149, 50, 10) == 0);
}

TEST_CASE("sticky map: idle keys go in slices") {
  StickyMap map;
  for (int i = 0; i < 1000; ++i) pin(map, {"m", 0, std::to_string(i)}, "w1", 1);
  CHECK(map.evict_idle(100, 50, 400) == 400);
  CHECK(map.size() == 600);
  CHECK(map.evict_idle(100, 50, 400) == 400);
  CHECK(map.evict_idle(100, 50, 400) == 200);
  CHECK(map.size() == 0);
}

TEST_CASE("sticky map: at the bound the least recently used key makes room") {
  StickyMap map(3, 1);
  pin(map, {"m", 0, "a"}, "w1");
  pin(map, {"m", 0, "b"}, "w1");
  pin(map, {"m", 0, "c"}, "w1");
  CHECK(peek(map, {"m", 0, "a"}) == Urls{"w1"});
  pin(map, {"m", 0, "d"}, "w1");
  CHECK(map.size() == 3);
  CHECK(peek(map, {"m", 0, "b"}) == Urls{});
  CHECK(peek(map, {"m", 0, "a"}) == Urls{"w1"});
  CHECK(peek(map, {"m", 0, "c"}) == Urls{"w1"});
}

TEST_CASE("sticky map: never more entries than the bound, spread over all shards") {
  StickyMap map(4096);
  for (int i = 0; i < 100'000; ++i) {
    pin(map, {"m", 0, "user-" + std::to_string(i)}, "http://w1:8000", 1);
    REQUIRE(map.size() <= 4096);
  }
  CHECK(map.size() == 4096);
  StickyMap tiny(2);  // fewer than there would be shards
  for (int i = 0; i < 100; ++i) pin(tiny, {"m", 0, std::to_string(i)}, "w1");
  CHECK(tiny.size() == 2);
}

TEST_CASE("sticky map: concurrent first requests of one key agree") {
  constexpr int kThreads = 8;
  constexpr int kKeys = 2000;
  StickyMap map(4096);
  std::vector<Urls> seen(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kKeys; ++i) {
        map.update({"m", 0, std::to_string(i)}, 1, [&](Pins& pins) {
          if (pins.empty()) pins.append(std::to_string(t));
          seen[static_cast<std::size_t>(t)].emplace_back(pins[0]);
        });
        if (i % 64 == 0) map.evict_idle(1, 1000, 8);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Urls& each : seen) CHECK(each == seen.front());
  CHECK(map.size() == kKeys);
}
