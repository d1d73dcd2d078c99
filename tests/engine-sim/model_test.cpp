#include "model.hpp"

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>

using namespace smg::sim;

TEST_CASE("a full batch makes requests wait in order, and a leaving one lets the next in") {
  Model model({.max_running = 2});
  for (std::uint64_t i = 1; i <= 4; ++i) model.arrive(i, "", 10);
  CHECK(model.admit(0)->request == 1);
  CHECK(model.admit(0)->request == 2);
  CHECK_FALSE(model.admit(0));
  CHECK(model.waiting() == 2);
  CHECK(model.waiting_tokens() == 20);
  model.leave(1);
  CHECK(model.admit(5)->request == 3);
  CHECK(model.running() == 2);
}

TEST_CASE("a request waits for KV blocks, and its tokens take more of them") {
  Model model({.kv_blocks = 4, .block_size = 16});
  model.arrive(1, "", 30);
  model.arrive(2, "", 40);
  CHECK(model.admit(0)->request == 1);
  CHECK_FALSE(model.admit(0));
  CHECK(model.token_usage() == doctest::Approx(0.5));
  for (int i = 0; i < 3; ++i) model.token(1);
  CHECK(model.used_blocks() == 3);
  model.leave(1);
  CHECK(model.admit(0)->request == 2);
}

TEST_CASE("prefill takes its time at the prefill rate, and a known prefix takes none") {
  Model model({.prefill_rate = 1000, .decode_ms = 10});
  const std::string prompt(400 * 4, 'x');
  model.arrive(1, prompt, 400);
  CHECK(model.admit(0)->first_token_at == 400'000 + 10'000);
  model.leave(1);
  model.arrive(2, prompt, 400);
  const auto again = model.admit(0);
  CHECK(again->cached_tokens == 400);
  CHECK(again->first_token_at == 10'000);
  CHECK(model.hit_rate() == doctest::Approx(0.5));
}

TEST_CASE("the prefix cache gives its room back when running requests need it") {
  Model model({.kv_blocks = 10, .block_size = 16});
  model.arrive(1, std::string(8 * 64, 'a'), 128);
  model.admit(0);
  model.leave(1);
  model.arrive(2, std::string(8 * 64, 'b'), 128);
  model.admit(0);
  model.arrive(3, std::string(8 * 64, 'a'), 128);
  model.leave(2);
  CHECK(model.admit(0)->cached_tokens < 128);
}

TEST_CASE("a waiting request that is given up leaves no trace") {
  Model model({.max_running = 1});
  model.arrive(1, "", 1);
  model.arrive(2, "", 1);
  model.admit(0);
  model.leave(2);
  model.leave(1);
  CHECK(model.running() + model.waiting() + model.used_blocks() == 0);
}
