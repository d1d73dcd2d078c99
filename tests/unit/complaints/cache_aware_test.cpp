// Reports about routing by prefix, as tests of cache_aware.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "desk.hpp"

using namespace smg::test;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Has the instance clean up and waits until `done`; it works on a thread of its own.
template <class Done>
bool cleaned_up(Desk& desk, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  desk.host.advance(120 * kSecond);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

double chars(const Desk& desk) {
  return desk.host.metric("smg_cache_tree_chars{m}");
}

// Prompts that begin alike and end differently, as under one system prompt.
std::string tail(const std::string& beginning, std::uint64_t number) {
  return beginning + story(number, 5);
}

}  // namespace

TEST_CASE("sglang#14305, #14532: a miss goes by load, never to the smallest tree") {
  Desk desk(SMG_CACHE_AWARE, 2);
  // Worker 0 was sent nearly everything, worker 1 nothing; worker 1's queue is long.
  desk.fleet.set_in_flight(1, 1);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(*desk.choose(story(i)) == 0);
  desk.fleet.set_in_flight(1, 0);
  desk.fleet.report(0, 0, 0, 1000, 0.1);
  desk.fleet.report(1, 40, 40'000, 1000, 0.7);
  CHECK(*desk.choose(story(100)) == 0);
}

TEST_CASE("sglang#32983: at low concurrency misses spread over all workers") {
  Desk desk(SMG_CACHE_AWARE, 4);
  std::map<std::uint32_t, int> chosen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint32_t worker = desk.send(story(i));
    ++chosen[worker];
    desk.finish(worker);
  }
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(chosen[i] > 60);
}

TEST_CASE("sglang#32195, smg#2161: imbalance elsewhere takes no request from its cache") {
  Desk desk(SMG_CACHE_AWARE, 3);
  desk.fleet.set_in_flight(1, 1);
  desk.fleet.set_in_flight(2, 1);
  REQUIRE(*desk.choose(story(1)) == 0);
  // One worker is far beyond all thresholds; the holder is not.
  desk.fleet.set_in_flight(0, 5);
  desk.fleet.set_in_flight(1, 500);
  desk.fleet.set_in_flight(2, 0);
  for (int i = 0; i < 20; ++i) CHECK(*desk.choose(story(1) + "more") == 0);
  // A holder that is itself beyond them gives the request away, and that request alone.
  desk.fleet.set_in_flight(0, 500);
  desk.fleet.set_in_flight(1, 0);
  CHECK(*desk.choose(story(1) + "other") != 0);
  desk.fleet.set_in_flight(0, 5);
  for (int i = 0; i < 20; ++i) CHECK(*desk.choose(story(1) + "more of it") == 0);
}

TEST_CASE(
    "smg#1621: KV usage that engines report suspends affinity, request counts need not trip") {
  Desk desk(SMG_CACHE_AWARE, 2);
  desk.host.floats["overload_token_usage_threshold"] = 0.9;
  desk.fleet.set_in_flight(1, 1);
  REQUIRE(*desk.choose(story(1)) == 0);
  desk.fleet.set_in_flight(1, 0);
  desk.fleet.report(0, 0, 0, 1000, 0.89);
  desk.fleet.report(1, 0, 0, 1000, 0.1);
  CHECK(*desk.choose(story(1)) == 0);
  desk.fleet.report(0, 0, 0, 1000, 0.95);
  CHECK(*desk.choose(story(1)) == 1);
}

TEST_CASE("smg#2137, production-stack#687: one budget for a model, however many workers it has") {
  for (const std::uint32_t workers : {2u, 32u}) {
    Desk desk(SMG_CACHE_AWARE, workers);
    desk.host.ints["max_tree_size"] = 20'000;
    for (std::uint64_t i = 0; i < 300; ++i) desk.send(story(i));
    CHECK(cleaned_up(desk, [&] { return chars(desk) > 0 && chars(desk) <= 20'000; }));
  }
}

TEST_CASE(
    "smg#2132, gateway-api-inference-extension#1289: a worker that left leaves nothing behind") {
  Desk desk(SMG_CACHE_AWARE, 3);
  for (std::uint64_t i = 0; i < 90; ++i) desk.send(story(i));
  CHECK(cleaned_up(desk, [&] { return chars(desk) > 0; }));
  CHECK(desk.host.metric("smg_cache_tree_tenants{m,string}") == 3);
  desk.set_members({0});
  desk.set_members({});
  CHECK(cleaned_up(desk, [&] {
    return chars(desk) == 0 && desk.host.metric("smg_cache_tree_tenants{m,string}") == 0;
  }));
}

TEST_CASE("smg#2126: sending the same again makes no worker look fuller") {
  Desk desk(SMG_CACHE_AWARE, 1);
  desk.send(story(1));
  REQUIRE(cleaned_up(desk, [&] { return chars(desk) > 0; }));
  CHECK(chars(desk) == static_cast<double>(story(1).size()));
  for (int i = 0; i < 100; ++i) desk.send(story(1));
  desk.send("x");
  REQUIRE(cleaned_up(desk, [&] { return chars(desk) != static_cast<double>(story(1).size()); }));
  CHECK(chars(desk) == static_cast<double>(story(1).size() + 1));
}

TEST_CASE("smg#2341: misses at the same moment do not all see the same idle worker") {
  Desk desk(SMG_CACHE_AWARE, 8);
  for (std::uint32_t i = 0; i < 8; ++i) desk.fleet.report(i, 0, 0, 1000, 0.0);
  std::map<std::uint32_t, int> chosen;
  // None is in flight yet when the next one is decided: only the credits tell.
  for (std::uint64_t i = 0; i < 8; ++i) ++chosen[*desk.choose(story(i))];
  CHECK(chosen.size() == 8);
}

TEST_CASE("smg#2341: a request that spills is booked on the worker that gets it, and only there") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Desk desk(SMG_CACHE_AWARE, 3, "m", seed);
    for (std::uint32_t i = 1; i < 3; ++i) desk.fleet.set_in_flight(i, 1);
    REQUIRE(*desk.choose(story(1)) == 0);
    for (std::uint32_t i = 0; i < 3; ++i) desk.fleet.report(i, 0, 0, 1000, 0.0);
    // The holder is hot, so a request with its prefix goes elsewhere. Whoever got it is the only
    // one that waits then, and the misses that follow go to the two others.
    desk.fleet.set_in_flight(0, 300);
    for (std::uint32_t i = 1; i < 3; ++i) desk.fleet.set_in_flight(i, 0);
    std::map<std::uint32_t, int> chosen;
    ++chosen[*desk.choose(story(1) + "a")];
    CHECK(chosen.count(0) == 0);
    ++chosen[*desk.choose(story(2))];
    ++chosen[*desk.choose(story(3))];
    CHECK(chosen.size() == 3);
  }
}

TEST_CASE(
    "dynamo#737, llm-d-router#669: a system prompt that all share does not send all to one "
    "worker") {
  constexpr std::uint32_t kWorkers = 8;
  const std::string system = story(1, 500);
  Desk desk(SMG_CACHE_AWARE, kWorkers);
  std::map<std::uint32_t, int> chosen;
  std::vector<std::uint32_t> running;
  std::uint32_t most = 0;
  // Sixteen at a time, two for each worker if they spread.
  for (std::uint64_t i = 0; i < 800; ++i) {
    const std::uint32_t worker = desk.send(tail(system, i + 10));
    if (i >= 100) {
      ++chosen[worker];
      most = std::max(most, desk.fleet.live(worker).in_flight);
    }
    running.push_back(worker);
    if (running.size() < 16) continue;
    desk.finish(running.front());
    running.erase(running.begin());
  }
  CHECK(chosen.size() == kWorkers);
  for (const auto& [worker, requests] : chosen) {
    CAPTURE(worker);
    CHECK(requests < 700 / static_cast<int>(kWorkers) * 2);
  }
  CHECK(most <= 8);
}

TEST_CASE("dynamo#737: a conversation under a shared system prompt still stays with its worker") {
  const std::string system = story(1, 100);
  Desk desk(SMG_CACHE_AWARE, 4);
  for (std::uint64_t i = 0; i < 40; ++i) desk.finish(desk.send(tail(system, i + 10)));
  std::string history = system + story(999, 100);
  const std::uint32_t home = desk.send(history);
  for (std::uint64_t turn = 0; turn < 5; ++turn) {
    history += story(2000 + turn, 50);
    CHECK(desk.send(history) == home);  // it is the busiest, but not too busy
  }
}
