// Reports about routing by load, as tests of least_load and power_of_two.
#include <doctest/doctest.h>

#include <map>

#include "desk.hpp"

using namespace smg::test;

TEST_CASE("sglang#27547, smg#1714: idle workers share the requests, whoever is listed first") {
  for (const char* library : {SMG_LEAST_LOAD, SMG_POWER_OF_TWO, SMG_CACHE_AWARE}) {
    CAPTURE(library);
    Desk desk(library, 4);
    std::map<std::uint32_t, int> chosen;
    // Requests end before the next one comes, as with a fast second leg: counts never differ.
    for (std::uint64_t i = 0; i < 400; ++i) {
      const std::uint32_t worker = desk.send(story(i));
      ++chosen[worker];
      desk.finish(worker);
    }
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(chosen[i] > 60);
  }
}

TEST_CASE("sglang#27547, smg#1714: a request counts from the moment it is sent") {
  for (const char* library : {SMG_LEAST_LOAD, SMG_CACHE_AWARE}) {
    CAPTURE(library);
    Desk desk(library, 4);
    for (std::uint64_t i = 0; i < 40; ++i) desk.send(story(i));
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(desk.fleet.live(i).in_flight == 10);
  }
}

TEST_CASE("smg#2454: a worker without a report is not taken for an idle one") {
  for (const char* library : {SMG_LEAST_LOAD, SMG_CACHE_AWARE}) {
    CAPTURE(library);
    Desk desk(library, 4);
    for (std::uint32_t i = 0; i < 3; ++i) desk.fleet.report(i, 2, 2048, 1000, 0.2);
    std::map<std::uint32_t, int> chosen;
    for (std::uint64_t i = 0; i < 40; ++i) ++chosen[desk.send(story(i))];
    CHECK(chosen[3] >= 1);
    CHECK(chosen[3] <= 10);
  }
}

TEST_CASE("vllm-project/router#174: without any report the requests in flight decide, not chance") {
  Desk desk(SMG_POWER_OF_TWO, 3);
  desk.fleet.set_in_flight(0, 50);
  for (int i = 0; i < 200; ++i) CHECK(*desk.choose() != 0);
}
