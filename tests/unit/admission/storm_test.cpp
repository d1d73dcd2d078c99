// Several loops at once, for the thread sanitizer and for the books: never more requests run than
// there is room for, and in the end all of it is free again.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "scheduling.hpp"

namespace smg::test {
namespace {

constexpr int kLoops = 3;
constexpr int kArrivals = 10'000;  // of each loop
constexpr std::size_t kClients = 16;
constexpr const char* kNames[] = {"bulk", "default", "interactive", "system"};

struct Shared {
  Admission& admission;
  std::atomic<std::uint64_t> clock{1000 * kSecond};
  std::atomic<int> running{0};
  std::atomic<int> most{0};
};

// One loop and its clients.
class Worker {
 public:
  Worker(Shared& shared, std::uint32_t seed) : shared_(shared), random_(seed) {
    for (std::size_t i = 0; i < kClients; ++i) {
      clients_.push_back(std::make_unique<Person>(*this));
    }
  }
  void run() {
    for (int arrivals = 0; arrivals < kArrivals;) {
      now_ = shared_.clock.fetch_add(kMillisecond / 4);
      while (random_() % 2 == 0 && loop_.run_one()) {
      }
      listen();
      Person& person = *clients_[random_() % kClients];
      const std::uint64_t deadline = person.client.ticket->deadline();
      if (person.holds && random_() % 3 != 0) {
        if (person.client.ticket->begin_data() && random_() % 2 == 0) continue;
        let_go(person);
      } else if (!person.holds && person.waits) {
        if (deadline != 0 && now_ >= deadline) {
          person.waits = person.client.expire().empty();
        } else if (random_() % 8 == 0) {
          let_go(person);
        }
      } else if (!person.holds) {
        ++arrivals;
        const Answer answer = person.client.enter(kNames[random_() % 4]);
        if (answer == Answer::admitted) hold(person);
        person.waits = answer == Answer::waiting;
      }
    }
  }
  void end() {
    for (auto& person : clients_) let_go(*person);
  }
  void run_tasks() { loop_.run(); }
  int admissions() const {
    int all = 0;
    for (const auto& person : clients_) all += person->client.admissions;
    return all;
  }

 private:
  struct Person {
    explicit Person(Worker& of) : client(of.shared_.admission, of.loop_, of.now_) {}
    Client client;
    bool waits = false, holds = false;
    int seen = 0;
  };

  void listen() {
    for (auto& person : clients_) {
      if (person->client.admissions == person->seen) continue;
      ++person->seen;
      person->waits = false;
      hold(*person);
    }
  }
  void hold(Person& person) {
    person.holds = true;
    const int now = ++shared_.running;
    int most = shared_.most.load();
    while (now > most && !shared_.most.compare_exchange_weak(most, now)) {
    }
  }
  void let_go(Person& person) {
    if (person.holds) --shared_.running;
    person.holds = person.waits = false;
    person.client.leave();
  }

  Shared& shared_;
  std::mt19937 random_;
  std::uint64_t now_ = 0;
  FakeLoop loop_;
  std::vector<std::unique_ptr<Person>> clients_;
};

void storm(Desk& desk, int capacity) {
  Shared shared{desk.admission()};
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < kLoops; ++i) {
    workers.push_back(std::make_unique<Worker>(shared, static_cast<std::uint32_t>(i + 1)));
  }
  std::atomic<bool> stop{false};
  std::thread control([&] {
    while (!stop) {
      const std::uint64_t now = shared.clock.load();
      desk.admission().tick(now);
      desk.admission().configure(desk.config, now);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  std::latch together(kLoops);
  for (auto& worker : workers) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      worker->run();
      worker->end();  // a loop that is done first leaves the rest to the others
    });
  }
  for (auto& thread : threads) thread.join();
  stop = true;
  control.join();
  CHECK(shared.most == capacity);  // never above it, and it was reached
  int admissions = 0;
  for (auto& worker : workers) admissions += worker->admissions();
  CHECK(admissions > 0);  // after a wait
  for (auto& worker : workers) worker->run_tasks();
  desk.now = shared.clock.load();
  for (int i = 0; i < capacity; ++i) desk.running("system");
  desk.waiting("bulk");
  desk.clients.clear();
  desk.loop.run();
}

TEST_CASE_FIXTURE(Desk, "limiter: several loops at once never have more than the capacity") {
  config.admission.max_concurrent_requests = 8;
  config.admission.queue_size = 12;
  config.admission.queue_timeout_secs = 1;
  storm(*this, 8);
  CHECK(families.admission_queue_depth.value() == 0);
  CHECK(families.admission_inflight.value() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "scheduler: several loops at once never have more than the capacity") {
  limits(interactive).reserved_floor = 2;
  for (const int rank : {bulk, default_class, interactive, system}) {
    limits(rank).queue_size = 6;
    limits(rank).queue_timeout_secs = 1;
    limits(rank).starvation_threshold_secs = 1;
  }
  storm(*this, 10);
}

}  // namespace
}  // namespace smg::test
