// Threads that select by text, by tokens and with late pools, while workers come and go, engines
// report blocks, the evictor runs and the state is handed over. 2 s, or as many seconds as
// SMG_TEST_SECONDS says.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache_aware.hpp"
#include "fake_host.hpp"
#include "fake_pool.hpp"
#include "handover.hpp"
#include "option_defaults.hpp"
#include "rig.hpp"

using namespace smg::test;
using cache_aware::CacheAware;
using cache_aware::ModelState;

namespace {

constexpr std::uint32_t kLoops = 6;  // one of them is the control loop
constexpr std::uint32_t kWorkers = 24;
constexpr std::uint32_t kSteady = 4;  // never leave

std::chrono::milliseconds duration() {
  const char* seconds = std::getenv("SMG_TEST_SECONDS");
  return std::chrono::milliseconds(seconds != nullptr ? 1000 * std::atoi(seconds) : 2000);
}

Tokens some_prompt(std::mt19937_64& random) {
  Tokens prompt = count_up(1, 256);
  for (std::size_t i = 16 * (random() % 16); i < prompt.size(); ++i) {
    prompt[i] += 1000 * static_cast<std::uint32_t>(1 + random() % 8);
  }
  return prompt;
}

class Storm {
 public:
  explicit Storm(bool hash) : host_(kLoops), fleet_(kWorkers) {
    host_.time = 1'000'000'000'000;
    set_defaults(host_);
    host_.ints["max_tree_size"] = 4000;  // evicts all the time
    host_.ints["eviction_interval_secs"] = 1;
    host_.ints["kv_indexer_max_entries"] = 200;
    host_.floats["overlap_decay"] = 0.1;
    host_.ints["balance_abs_threshold"] = 4;
    if (hash) host_.strings["cache_index"] = "hash";
    host_.strings["cache_boundaries"] = "16,64,128";
    policy_ = std::make_unique<CacheAware>(smg::Host(host_.raw()));
    set_defaults(quiet_host_);
    quiet_host_.strings = host_.strings;
    publish(std::vector<bool>(kWorkers, true));
  }

  void run() {
    const auto end = std::chrono::steady_clock::now() + duration();
    std::vector<std::thread> threads;
    for (std::uint32_t loop = 0; loop + 1 < kLoops; ++loop) {
      threads.emplace_back([this, loop] { select_on(loop); });
    }
    threads.emplace_back([this] { select_on(SMG_LOOP_NONE); });
    threads.emplace_back([this] { report_blocks(); });
    threads.emplace_back([this] { change_members(); });
    threads.emplace_back([this] { hand_over(); });
    while (std::chrono::steady_clock::now() < end) {
      host_.advance(500'000'000);  // as the control loop does
      std::this_thread::yield();
    }
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
  }

  void check() {
    CHECK(selections_ > 0);
    CHECK(wrong_ == 0);
    CHECK(handed_over_ > 0);
    const std::shared_ptr<ModelState> model = policy_->models().list()->at(0);
    CHECK(settles([&] { return model->index.recount().memberships == model->index.size(); }));
    CHECK(settles([&] { return model->index.recount().entries == model->index.entries(); }));
    CHECK(settles([&] { return model->placement.recount() == model->placement.size(); }));
    CHECK(settles([&] { return trees_match(model->strings); }));
    CHECK(settles([&] { return trees_match(model->tokens); }));
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      if (model->tenants.find(fleet_.url(i))) continue;
      CHECK_FALSE(model->index.has_trace(i));
      CHECK_FALSE(model->placement.has_trace(i));
    }
    policy_->pool_changed(present()->raw(), nullptr);
    CHECK(model->strings.size() == 0);
    CHECK(model->tokens.size() == 0);
    CHECK(model->index.size() == 0);
    CHECK(model->index.recount().handles == 0);
    CHECK(model->placement.size() == 0);
  }

 private:
  template <class Tree>
  static bool trees_match(const Tree& tree) {
    const auto census = tree.recount();
    return census.total == tree.size() && census.faults == 0;
  }

  // The evictor may still be at its last run, and change a book while it is counted.
  template <class Condition>
  static bool settles(Condition condition) {
    for (int turn = 0; turn < 1'000'000; ++turn) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::shared_ptr<FakePool> present() {
    const std::lock_guard lock(mutex_);
    return pool_;
  }

  void publish(const std::vector<bool>& members) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      if (members[i]) numbers.push_back(i);
    }
    std::shared_ptr<FakePool> next = fleet_.pool(numbers);
    const auto before = present();
    policy_->pool_changed(before != nullptr ? before->raw() : nullptr, next->raw());
    const std::lock_guard lock(mutex_);
    pool_ = std::move(next);
  }

  void select_on(std::uint32_t loop) {
    const OnLoop on(loop);
    std::mt19937_64 random(loop);
    std::shared_ptr<FakePool> pool = present();
    std::uint64_t count = 0;
    while (!stop_) {
      if (++count % 16 == 0) pool = present();  // late by up to 16 requests
      const Tokens prompt = some_prompt(random);
      const std::string text(prompt.begin(), prompt.end());
      smg_policy_request request{};
      request.struct_size = sizeof request;
      request.now = host_.time;
      request.random = random();
      const std::string name_space = random() % 8 == 0 ? "salt" : "";
      request.cache_namespace = view_of(name_space);
      if (random() % 2 == 0) {
        request.text = view_of(text);
      } else {
        request.tokens = prompt.data();
        request.token_count = prompt.size();
      }
      const std::uint64_t epoch = smg_pool_epoch(pool->raw());
      const auto choice = policy_->select(smg::Request(request), smg::Pool(*pool->raw()));
      if (!choice || *choice >= pool->raw()->count) {
        ++wrong_;
        continue;
      }
      const smg_worker_live* live = pool->raw()->live[*choice];
      const std::uint32_t state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
      if (smg_state_eligible(state) == 0 && epoch % 2 == 0 &&
          smg_pool_epoch(pool->raw()) == epoch) {
        ++wrong_;
      }
      auto* in_flight = const_cast<std::uint32_t*>(&live->in_flight);
      __atomic_store_n(in_flight, static_cast<std::uint32_t>(random() % 12), __ATOMIC_RELAXED);
    }
    selections_ += count;
  }

  void report_blocks() {
    std::mt19937_64 random(99);
    while (!stop_) {
      const auto worker = static_cast<std::uint32_t>(random() % kWorkers);
      const Tokens ids = some_prompt(random);
      std::vector<std::uint64_t> blocks(16);
      for (auto& block : blocks) block = 1 + random() % 400;
      smg_event_kv event{};
      event.event.struct_size = sizeof event;
      event.event.type = SMG_EVENT_KV_BLOCKS;
      event.event.worker_url = view_of(fleet_.url(worker));
      const auto kind = random() % 10;
      event.action = kind < 7 ? SMG_KV_STORED : kind < 9 ? SMG_KV_REMOVED : SMG_KV_CLEARED;
      event.blocks = blocks.data();
      event.block_count = blocks.size();
      event.tokens = ids.data();
      event.token_count = ids.size();
      event.block_size = 16;
      host_.publish(event.event);
    }
  }

  void change_members() {
    std::mt19937_64 random(7);
    std::vector<bool> members(kWorkers, true);
    while (!stop_) {
      const auto number = kSteady + static_cast<std::uint32_t>(random() % (kWorkers - kSteady));
      if (random() % 2 == 0) {
        members[number] = !members[number];
        publish(members);
      } else if (random() % 2 == 0) {
        fleet_.down(number);
      } else {
        fleet_.up(number);
      }
      std::this_thread::yield();
    }
  }

  // To instances that nobody else knows, all the time.
  void hand_over() {
    while (!stop_) {
      StateKeeper keeper;
      smg::StateWriter writer(keeper.writer());
      policy_->export_state(writer);
      writer.flush();
      CacheAware next(smg::Host(quiet_host_.raw()));
      const std::shared_ptr<FakePool> pool = present();
      next.pool_changed(nullptr, pool->raw());
      try {
        next.import_state(CacheAware::kStateFormat, keeper.bytes());
      } catch (const smg::Error&) {
        ++wrong_;
      }
      const std::shared_ptr<ModelState> model = next.models().list()->at(0);
      if (!trees_match(model->strings) || !trees_match(model->tokens)) ++wrong_;
      const bool filled = model->strings.size() + model->placement.size() > 0;
      handed_over_ += filled && model->index.size() > 0 ? 1 : 0;
    }
  }

  FakeHost host_;
  FakeHost quiet_host_;
  FakeFleet fleet_;
  std::unique_ptr<CacheAware> policy_;
  std::mutex mutex_;
  std::shared_ptr<FakePool> pool_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> selections_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::uint64_t> handed_over_{0};
};

}  // namespace

TEST_CASE("threads select, workers come and go, engines report, the evictor runs: trees") {
  Storm storm(false);
  storm.run();
  storm.check();
}

TEST_CASE("threads select, workers come and go, engines report, the evictor runs: hashes") {
  Storm storm(true);
  storm.run();
  storm.check();
}
