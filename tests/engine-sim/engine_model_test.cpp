#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "engine_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace smg::sim;

namespace {

struct Watched final : Job {
  Watched(EngineModel& model, const double& clock, std::uint32_t prompt, std::uint32_t output,
          std::vector<std::uint64_t> hashes = {})
      : model_(model), clock_(clock) {
    prompt_tokens = prompt;
    output_tokens = output;
    block_hashes = std::move(hashes);
  }
  void token(std::uint32_t index) override {
    CHECK(index == times.size());
    times.push_back(clock_);
    if (times.size() == cancel_after) model_.cancel(*this, clock_);
  }
  void finished() override {
    CHECK_FALSE(done);
    done = true;
  }

  EngineModel& model_;
  const double& clock_;
  std::vector<double> times;
  std::size_t cancel_after = 0;
  bool done = false;
};

// A model on a virtual clock that stops at every event.
struct Bench {
  explicit Bench(const ModelSettings& settings) : model(settings) {}
  bool submit(Job& job) { return model.submit(job, clock); }
  void run_until(double end) {
    while (model.next_event() <= end) {
      clock = std::max(clock, model.next_event());
      model.advance(clock);
    }
    clock = end;
    model.advance(clock);
  }
  EngineModel model;
  double clock = 0;
};

ModelSettings settings(std::uint32_t max_running, std::uint32_t kv_blocks = 1000) {
  ModelSettings made;
  made.max_running = max_running;
  made.kv_blocks = kv_blocks;
  made.block_size = 16;
  made.prefill_rate = 1000;
  made.decode_ms = 10;
  return made;
}

std::vector<std::uint64_t> hashes(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(first + i);
  return made;
}

}  // namespace

TEST_CASE("the first token comes when the prompt is prefilled, the others one per step") {
  Bench bench(settings(4));
  Watched job(bench.model, bench.clock, 100, 4);
  CHECK(bench.submit(job));
  bench.run_until(1000);
  CHECK(job.times == std::vector<double>{100, 110, 120, 130});
  CHECK(job.done);
  CHECK(bench.model.running() == 0);
  CHECK(bench.model.used_blocks() == 0);
  CHECK(std::isinf(bench.model.next_event()));
}

TEST_CASE("the batch shares the prefill rate in order of admission") {
  Bench bench(settings(4));
  Watched first(bench.model, bench.clock, 100, 1);
  Watched second(bench.model, bench.clock, 50, 1);
  bench.submit(first);
  bench.submit(second);
  bench.run_until(1000);
  CHECK(first.times == std::vector<double>{100});
  CHECK(second.times == std::vector<double>{150});
}

TEST_CASE("a request that joins a running batch gets its first token at the end of a step") {
  Bench bench(settings(4));
  Watched first(bench.model, bench.clock, 10, 5);
  bench.submit(first);
  bench.run_until(12);
  Watched second(bench.model, bench.clock, 5, 2);
  bench.submit(second);
  bench.run_until(1000);
  CHECK(first.times == std::vector<double>{10, 20, 30, 40, 50});
  CHECK(second.times == std::vector<double>{20, 30});
}

TEST_CASE("a step grows with the batch") {
  ModelSettings growing = settings(4);
  growing.decode_growth = 0.5;
  growing.prefill_rate = 0;
  Bench bench(growing);
  Watched first(bench.model, bench.clock, 10, 3);
  Watched second(bench.model, bench.clock, 10, 3);
  bench.submit(first);
  bench.submit(second);
  bench.run_until(1000);
  // The first alone starts a step of 10 ms, the two of them take 15 ms.
  CHECK(first.times == std::vector<double>{0, 10, 25});
  CHECK(second.times == std::vector<double>{10, 25, 35});
}

TEST_CASE("a full batch makes requests wait in order, and an ended one lets the next in") {
  Bench bench(settings(2));
  Watched a(bench.model, bench.clock, 10, 2);
  Watched b(bench.model, bench.clock, 10, 5);
  Watched c(bench.model, bench.clock, 10, 1);
  Watched d(bench.model, bench.clock, 10, 1);
  for (Watched* job : {&a, &b, &c, &d}) bench.submit(*job);
  CHECK(bench.model.running() == 2);
  CHECK(bench.model.waiting() == 2);
  CHECK(bench.model.waiting_uncached_tokens() == 20);
  bench.run_until(1000);
  CHECK(a.done);
  CHECK(b.done);
  CHECK(c.times.at(0) > a.times.back());
  CHECK(d.times.at(0) > c.times.at(0));
  CHECK(bench.model.used_blocks() == 0);
}

TEST_CASE("a request waits while KV blocks are short, and nobody overtakes it") {
  Bench bench(settings(10, 8));
  Watched large(bench.model, bench.clock, 90, 2);
  Watched waits(bench.model, bench.clock, 40, 1);
  Watched small(bench.model, bench.clock, 10, 1);
  for (Watched* job : {&large, &waits, &small}) bench.submit(*job);
  CHECK(bench.model.running() == 1);
  CHECK(bench.model.waiting() == 2);
  CHECK(bench.model.token_usage() == doctest::Approx(6.0 / 8));
  bench.run_until(1000);
  CHECK(waits.times.at(0) > large.times.back());
  CHECK(small.done);
}

TEST_CASE("a request that can never fit is refused") {
  Bench bench(settings(1, 4));
  Watched job(bench.model, bench.clock, 60, 5);
  CHECK_FALSE(bench.submit(job));
  Watched fits(bench.model, bench.clock, 60, 4);
  CHECK(bench.submit(fits));
  bench.run_until(1000);
  CHECK(fits.done);
}

TEST_CASE("when decoding runs out of blocks the youngest request starts over and still ends") {
  Bench bench(settings(10, 4));
  Watched old(bench.model, bench.clock, 31, 20);
  Watched young(bench.model, bench.clock, 31, 20);
  bench.submit(old);
  bench.submit(young);
  CHECK(bench.model.running() == 2);
  bench.run_until(10000);
  CHECK(bench.model.preemptions() >= 1);
  CHECK(old.times.size() == 20);
  CHECK(young.times.size() == 20);
  CHECK(old.times.back() < young.times.back());
  CHECK(bench.model.used_blocks() == 0);
}

TEST_CASE("a prompt that was seen before needs no prefill, but for its last block") {
  Bench bench(settings(4));
  Watched first(bench.model, bench.clock, 160, 1, hashes(1, 10));
  bench.submit(first);
  bench.run_until(500);
  Watched again(bench.model, bench.clock, 160, 1, hashes(1, 10));
  bench.submit(again);
  bench.run_until(1000);
  CHECK(first.times.at(0) == doctest::Approx(160));
  CHECK(again.cached_tokens == 144);
  CHECK(again.times.at(0) == doctest::Approx(516));
  CHECK(bench.model.hit_rate() == doctest::Approx(144.0 / 320));
}

TEST_CASE("requests that share a prefix share its blocks while they run") {
  Bench bench(settings(4));
  Watched first(bench.model, bench.clock, 160, 100, hashes(1, 10));
  bench.submit(first);
  bench.run_until(200);
  const std::size_t before = bench.model.used_blocks();
  Watched second(bench.model, bench.clock, 176, 1, hashes(1, 11));
  bench.submit(second);
  CHECK(second.cached_tokens == 160);
  CHECK(bench.model.used_blocks() == before + 2);
}

TEST_CASE("cached blocks count as free and give way, the least recently used first") {
  Bench bench(settings(4, 20));
  Watched old(bench.model, bench.clock, 144, 1, hashes(100, 9));
  Watched recent(bench.model, bench.clock, 144, 1, hashes(200, 9));
  bench.submit(old);
  bench.run_until(1000);
  bench.submit(recent);
  bench.run_until(2000);
  CHECK(bench.model.token_usage() == 0);
  Watched other(bench.model, bench.clock, 144, 1, hashes(300, 9));
  bench.submit(other);
  bench.run_until(3000);
  Watched recent_again(bench.model, bench.clock, 144, 1, hashes(200, 9));
  bench.submit(recent_again);
  CHECK(recent_again.cached_tokens == 128);
  bench.run_until(4000);
  Watched old_again(bench.model, bench.clock, 144, 1, hashes(100, 9));
  bench.submit(old_again);
  CHECK(old_again.cached_tokens == 0);
  bench.run_until(5000);
}

TEST_CASE("a flushed cache is empty") {
  Bench bench(settings(4));
  Watched first(bench.model, bench.clock, 160, 1, hashes(1, 10));
  bench.submit(first);
  bench.run_until(500);
  bench.model.flush_cache();
  Watched again(bench.model, bench.clock, 160, 1, hashes(1, 10));
  bench.submit(again);
  CHECK(again.cached_tokens == 0);
  bench.model.cancel(again, bench.clock);
}

TEST_CASE("a cancelled request leaves no trace, wherever it was") {
  Bench bench(settings(2));
  Watched decoding(bench.model, bench.clock, 10, 100);
  bench.submit(decoding);
  bench.run_until(35);
  Watched prefilling(bench.model, bench.clock, 1000, 1);
  Watched waiting(bench.model, bench.clock, 10, 1);
  Watched next(bench.model, bench.clock, 10, 1);
  for (Watched* job : {&prefilling, &waiting, &next}) bench.submit(*job);
  bench.model.cancel(waiting, bench.clock);
  bench.model.cancel(prefilling, bench.clock);
  bench.model.cancel(decoding, bench.clock);
  bench.model.cancel(decoding, bench.clock);
  bench.run_until(1000);
  CHECK_FALSE(decoding.done);
  CHECK_FALSE(prefilling.done);
  CHECK_FALSE(waiting.done);
  CHECK(next.done);
  CHECK(bench.model.running() + bench.model.waiting() + bench.model.used_blocks() == 0);
}

TEST_CASE("a request may cancel itself while it gets a token") {
  Bench bench(settings(4));
  Watched leaves(bench.model, bench.clock, 10, 100);
  Watched stays(bench.model, bench.clock, 10, 5);
  leaves.cancel_after = 3;
  bench.submit(leaves);
  bench.submit(stays);
  bench.run_until(1000);
  CHECK(leaves.times.size() == 3);
  CHECK_FALSE(leaves.done);
  CHECK(stays.done);
  CHECK(bench.model.used_blocks() == 0);
}

TEST_CASE("a request without output ends with its prefill") {
  Bench bench(settings(4));
  Watched embedding(bench.model, bench.clock, 100, 0);
  bench.submit(embedding);
  bench.run_until(99);
  CHECK_FALSE(embedding.done);
  bench.run_until(100);
  CHECK(embedding.done);
  CHECK(embedding.times.empty());
}

TEST_CASE("an engine that is woken late goes on from there and makes up for nothing") {
  Bench bench(settings(1));
  Watched job(bench.model, bench.clock, 10, 100);
  bench.submit(job);
  bench.run_until(30);
  const std::size_t before = job.times.size();
  bench.clock = 5000;
  bench.model.advance(bench.clock);
  CHECK(job.times.size() == before + 1);
  CHECK(bench.model.next_event() == doctest::Approx(5010));
}

TEST_CASE("a paused engine accepts work and produces nothing until it goes on") {
  Bench bench(settings(1));
  Watched running(bench.model, bench.clock, 10, 10);
  bench.submit(running);
  bench.run_until(35);
  bench.model.pause(true, bench.clock);
  Watched waiting(bench.model, bench.clock, 10, 1);
  bench.submit(waiting);
  bench.run_until(5000);
  CHECK(running.times.size() == 3);
  CHECK(bench.model.waiting() == 1);
  bench.model.pause(false, bench.clock);
  bench.run_until(9000);
  CHECK(running.done);
  CHECK(waiting.done);
}
