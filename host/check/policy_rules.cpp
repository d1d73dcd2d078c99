#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "host/base/views.hpp"
#include "host/check/exercise.hpp"
#include "host/check/local_worker.hpp"
#include "host/check/rules.hpp"
#include "host/check/worker_park.hpp"

namespace smg::check {
namespace {

constexpr const char* kSkip = "skip workers that smg_pool_eligible() refuses, and stay in the pool";

void tell(Subject& subject, const PluginInstance& instance, const ParkedPool* before,
          const ParkedPool* after) {
  const auto& api = instance.policy();
  if (api.pool_changed == nullptr) return;
  subject.rig.on_control([&] {
    api.pool_changed(instance.self(), before == nullptr ? nullptr : &before->view(),
                     after == nullptr ? nullptr : &after->view());
  });
}

// Once more, on a loop. Empty, or what is wrong.
std::string ask(const PluginInstance& instance, const ParkedPool& pool, Random& random,
                std::uint32_t& index, smg_status& status) {
  const RandomRequest request(random, Loop::current()->now());
  index = 0xffffffff;
  status = instance.policy().select(instance.self(), &request.view(), &pool.view(), &index);
  return choice_problem(status, pool.view(), index);
}

Finding select_eligible(Subject& subject) {
  auto instance = subject.create();
  Random random(42);
  WorkerPark park(12);
  auto older = park.all();
  auto pool = park.all();
  tell(subject, *instance, nullptr, older.get());
  tell(subject, *instance, older.get(), pool.get());
  std::string problem;
  int chosen = 0;
  int declined = 0;
  const int rounds = subject.command.full ? 1000 : 100;
  for (int round = 0; round < rounds && problem.empty(); ++round) {
    subject.rig.on_loop(0, [&] {
      for (int i = 0; i < 20 && problem.empty(); ++i) {
        park.stir(random);
        const ParkedPool& from = i % 8 == 0 ? *older : *pool;
        std::uint32_t index = 0;
        smg_status status = SMG_OK;
        problem = ask(*instance, from, random, index, status);
        if (status == SMG_OK) ++chosen;
        if (status == SMG_NO_CHOICE && from.any_eligible()) ++declined;
      }
    });
    auto next = park.some(random);
    tell(subject, *instance, pool.get(), next.get());
    older = std::exchange(pool, std::move(next));
  }
  tell(subject, *instance, pool.get(), nullptr);
  subject.rig.destroy(std::move(instance));
  if (!problem.empty()) return broken(problem, kSkip);
  std::string seen =
      std::to_string(chosen) + " choices from changing pools, none of a vetoed worker";
  if (declined > 0) {
    seen += "; declined " + std::to_string(declined) + " times though one could have been chosen";
  }
  return passed(seen);
}

Finding select_uniform(Subject& subject) {
  constexpr std::uint32_t kWorkers = 8;
  constexpr int kChoices = 16'000;
  // Chi-square with 7 degrees of freedom exceeds this once in a million.
  constexpr double kMost = 40.5;
  auto instance = subject.create();
  Random random(7);
  WorkerPark park(kWorkers);
  const auto pool = park.all();
  tell(subject, *instance, nullptr, pool.get());
  std::array<int, kWorkers> taken{};
  int declined = 0;
  subject.rig.on_loop(0, [&] {
    for (int i = 0; i < kChoices; ++i) {
      smg_policy_request request{};
      request.struct_size = sizeof request;
      request.random = random.next();
      request.now = Loop::current()->now();
      std::uint32_t index = 0;
      if (instance->policy().select(instance->self(), &request, &pool->view(), &index) == SMG_OK &&
          index < kWorkers) {
        ++taken[index];
      } else {
        ++declined;
      }
    }
  });
  tell(subject, *instance, pool.get(), nullptr);
  subject.rig.destroy(std::move(instance));
  double chi = 0;
  std::string shares;
  const double expected = static_cast<double>(kChoices) / kWorkers;
  for (const int count : taken) {
    chi += (count - expected) * (count - expected) / expected;
    shares += (shares.empty() ? "" : " ") + std::to_string(count * 1000 / kChoices);
  }
  const std::string seen = "of 1000 requests without a key, 8 equal workers get " + shares;
  if (!subject.command.uniform) return passed(seen + " (--uniform makes equal shares a rule)");
  if (chi > kMost || declined > 0) {
    return broken(seen + ": not equal, by a test that errs once in a million",
                  "use request.random and smg/cpp/random.hpp, or do without --uniform");
  }
  return passed(seen);
}

Finding select_time(Subject& subject) {
  constexpr std::uint64_t kMost = 1'000'000;  // ns, half of the choices
  auto instance = subject.create();
  Random random(3);
  std::string seen;
  Finding finding;
  for (const std::uint32_t size : {8u, 256u}) {
    WorkerPark park(size);
    const auto pool = park.all();
    tell(subject, *instance, nullptr, pool.get());
    std::vector<std::uint64_t> times;
    subject.rig.on_loop(0, [&] {
      for (int i = 0; i < 200; ++i) {
        const RandomRequest request(random, Loop::current()->now());
        std::uint32_t index = 0;
        const std::uint64_t before = Loop::clock();
        instance->policy().select(instance->self(), &request.view(), &pool->view(), &index);
        times.push_back(Loop::clock() - before);
      }
    });
    tell(subject, *instance, pool.get(), nullptr);
    std::sort(times.begin(), times.end());
    const std::uint64_t half = times[times.size() / 2];
    seen += (seen.empty() ? "" : "; ") + std::to_string(size) + " workers: p50 " +
            std::to_string(half) + " ns, p99 " + std::to_string(times[times.size() * 99 / 100]) +
            " ns";
    if (half > kMost) {
      finding = broken(seen + "; half of them took longer than 1 ms",
                       "select() runs on the loop of all other requests: prepare in "
                       "pool_changed(), never wait");
      break;
    }
  }
  subject.rig.destroy(std::move(instance));
  return finding.failed() ? finding : passed(seen);
}

Finding select_threads(Subject& subject) {
  auto instance = subject.create();
  Random random(11);
  // Odd ones can never be chosen; the others come and go meanwhile.
  WorkerPark park(16);
  for (std::uint32_t i = 1; i < park.size(); i += 2) park.set_state(i, SMG_STATUS_FAILED);
  std::mutex mutex;
  std::shared_ptr<ParkedPool> pool = park.all();
  tell(subject, *instance, nullptr, pool.get());
  std::atomic<bool> stop{false};
  std::atomic<int> choices{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::uint32_t loop = 0; loop < Subject::kDataLoops; ++loop) {
    callers.emplace_back([&, loop] {
      Random own(loop);
      while (!stop) {
        std::shared_ptr<ParkedPool> seen;
        {
          const std::lock_guard lock(mutex);
          seen = pool;
        }
        subject.rig.on_loop(loop, [&] {
          for (int i = 0; i < 50; ++i) {
            std::uint32_t index = 0;
            smg_status status = SMG_OK;
            const RandomRequest request(own, Loop::current()->now());
            status =
                instance->policy().select(instance->self(), &request.view(), &seen->view(), &index);
            choices.fetch_add(1);
            if (status == SMG_NO_CHOICE) continue;
            const bool fits = status == SMG_OK && index < seen->view().count &&
                              seen->view().workers[index]->slot % 2 == 0;
            if (!fits) wrong.fetch_add(1);
          }
        });
      }
    });
  }
  const int enough = subject.command.full ? 30'000 : 3'000;
  for (int i = 0; choices < enough; ++i) {
    park.set_state(static_cast<std::uint32_t>(random.next() % 8 * 2),
                   i % 2 == 0 ? SMG_STATUS_READY : SMG_STATUS_READY | SMG_STATE_OVERLOADED);
    if (i % 8 == 0) {
      std::shared_ptr<ParkedPool> next = park.some(random);
      tell(subject, *instance, pool.get(), next.get());
      const std::lock_guard lock(mutex);
      pool.swap(next);
    }
    std::this_thread::yield();
  }
  stop = true;
  for (auto& caller : callers) caller.join();
  tell(subject, *instance, pool.get(), nullptr);
  subject.rig.destroy(std::move(instance));
  if (wrong > 0) {
    return broken(std::to_string(wrong) + " of " + std::to_string(choices) +
                      " choices on three loops at once were wrong",
                  "select() runs on every loop at the same time: keep what it writes per loop, "
                  "atomic or behind a lock");
  }
  return passed(std::to_string(choices) + " choices on three loops at once, pools changing");
}

Finding pool_changed(Subject& subject) {
  auto instance = subject.create();
  Random random(5);
  WorkerPark park(10);
  park.make_gone_pools_unreadable();
  std::string problem;
  const auto choose = [&](const ParkedPool& pool) {
    subject.rig.on_loop(0, [&] {
      for (int i = 0; i < 10 && problem.empty(); ++i) {
        std::uint32_t index = 0;
        smg_status status = SMG_OK;
        problem = ask(*instance, pool, random, index, status);
      }
    });
  };
  for (int life = 0; life < 20 && problem.empty(); ++life) {
    auto pool = park.all();
    tell(subject, *instance, nullptr, pool.get());
    choose(*pool);
    for (int i = 0; i < 5 && problem.empty(); ++i) {
      auto next = i == 3 ? park.pool({}) : park.some(random);
      tell(subject, *instance, pool.get(), next.get());
      choose(*pool);  // requests on their way
      pool = std::move(next);
      choose(*pool);
    }
    tell(subject, *instance, pool.get(), nullptr);
  }
  subject.rig.destroy(std::move(instance));
  if (!problem.empty()) return broken(problem, kSkip);
  return passed("pools that come, change, empty and go; none was read after it had gone");
}

Finding thread_tags(Subject& subject) {
  const Trouble trouble = exercise(subject.rig, subject.plugin, subject.options, 500);
  if (trouble.rule == "thread-tags") {
    return broken(trouble.problem,
                  "every function of smg/host.h says on which threads it may be called");
  }
  return passed("services were called on the threads that they name");
}

constexpr Rule kRules[] = {
    {"select-eligible", select_eligible, 60, false}, {"select-uniform", select_uniform, 15, false},
    {"select-time", select_time, 15, false},         {"select-threads", select_threads, 60, false},
    {"pool-changed", pool_changed, 30, false},       {"thread-tags", thread_tags, 10, false}};

}  // namespace

std::span<const Rule> policy_rules() {
  return kRules;
}

}  // namespace smg::check
