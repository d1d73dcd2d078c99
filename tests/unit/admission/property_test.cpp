// Both kinds of admission under 100,000 random arrivals, cancels, time-outs and preemptions, with
// posted tasks that run at random moments: what goes in comes out, no queue is longer than it may
// be, nobody is overtaken within his class.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

#include "scheduling.hpp"

namespace smg::test {
namespace {

constexpr std::array<const char*, 4> kNames = {"bulk", "default", "interactive", "system"};

// Drives clients at random and keeps its own books of who has what.
class Storm {
 public:
  Storm(Desk& desk, std::uint32_t seed, int clients, std::size_t capacity,
        std::array<std::size_t, 4> queue_sizes, bool by_class)
      : desk_(desk),
        random_(seed),
        capacity_(capacity),
        queue_sizes_(queue_sizes),
        by_class_(by_class) {
    for (int i = 0; i < clients; ++i) people_.push_back({&desk.client()});
  }

  void run(int arrivals) {
    while (arrivals_ < arrivals) {
      step();
      check();
    }
    drain();
  }

  int arrivals_ = 0, admitted_ = 0, refused_ = 0, timed_out_ = 0, cancelled_ = 0, victims_ = 0;

 private:
  enum class State { away, waiting, running, preempted };
  struct Person {
    Client* client;
    State state = State::away;
    std::size_t rank = 0;
    int admissions = 0, preemptions = 0;  // that are known of
    bool immune = false;
  };

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  void step() {
    const std::size_t what = below(100);
    Person& person = people_[below(people_.size())];
    if (what < 10) {
      desk_.now += below(150 * kMillisecond);
    } else if (what < 11) {
      desk_.admission().tick(desk_.now);
      for (std::size_t rank = 0; rank < kNames.size(); ++rank) {
        REQUIRE(desk_.families.scheduler_queue_depth.with({kNames[rank]}).value() <=
                static_cast<double>(queue_sizes_[rank]));
      }
    } else if (what < 45) {
      if (desk_.loop.run_one()) listen();
    } else {
      act(person);
    }
  }

  void act(Person& person) {
    switch (person.state) {
      case State::away:
        return arrive(person);
      case State::waiting: {
        const std::uint64_t deadline = person.client->ticket->deadline();
        return deadline != 0 && desk_.now >= deadline ? time_out(person) : cancel(person);
      }
      case State::preempted:
        return leave(person);
      case State::running:
        if (!person.immune && below(2) == 0) {
          person.immune = person.client->ticket->begin_data();
          return;
        }
        return leave(person);
    }
  }

  void arrive(Person& person) {
    ++arrivals_;
    person.rank = by_class_ ? below(4) : 0;
    switch (person.client->enter(kNames[person.rank])) {
      case Answer::admitted:
        // Those of his class who are in line have been granted their room already.
        REQUIRE(still_waiting(person.rank) == 0);
        return admit(person);
      case Answer::refused:
        ++refused_;
        return;
      case Answer::waiting:
        person.state = State::waiting;
        lines_[person.rank].push_back(person.client);
        return;
    }
  }

  void admit(Person& person) {
    ++admitted_;
    person.state = State::running;
    person.immune = false;
  }

  // Takes note of what the tasks that ran have told.
  void listen() {
    for (Person& person : people_) {
      Client& client = *person.client;
      if (client.admissions != person.admissions) {
        ++person.admissions;
        REQUIRE(client.admissions == person.admissions);
        REQUIRE(person.state == State::waiting);
        for (Client* ahead : lines_[person.rank]) {
          if (ahead == &client) break;
          REQUIRE(is_granted(*ahead));  // its task comes later
        }
        forget(person);
        admit(person);
      }
      if (client.preemptions != person.preemptions) {
        ++person.preemptions;
        REQUIRE(client.preemptions == person.preemptions);
        REQUIRE(person.state == State::running);
        REQUIRE_FALSE(person.immune);
        REQUIRE_FALSE(client.ticket->begin_data());
        ++victims_;
        person.state = State::preempted;
      }
    }
  }

  void time_out(Person& person) {
    const std::string code = person.client->expire();
    if (code.empty()) return;
    ++timed_out_;
    forget(person);
  }
  void cancel(Person& person) {
    if (below(3) != 0) return;
    ++cancelled_;
    person.client->leave();
    forget(person);
  }
  void forget(Person& person) {
    auto& line = lines_[person.rank];
    line.erase(std::find(line.begin(), line.end(), person.client));
    person.state = State::away;
  }
  void leave(Person& person) {
    if (below(3) == 0) return;
    person.client->leave();
    person.state = State::away;
  }

  // Only for one in line whose deadline is not over, or who must not be waiting any more.
  static bool is_granted(Client& client) {
    return client.expire().empty() && client.ticket->deadline() == 0;
  }
  std::ptrdiff_t still_waiting(std::size_t rank) {
    return std::count_if(lines_[rank].begin(), lines_[rank].end(), [&](Client* client) {
      return desk_.now < client->ticket->deadline() && !is_granted(*client);
    });
  }

  void check() {
    std::size_t running = 0;
    for (const Person& person : people_) {
      running += person.state == State::running || person.state == State::preempted ? 1u : 0u;
    }
    REQUIRE(running <= capacity_);
    if (!by_class_) {
      REQUIRE(desk_.families.admission_queue_depth.value() <= static_cast<double>(queue_sizes_[0]));
      REQUIRE(desk_.families.admission_inflight.value() <= static_cast<double>(capacity_));
    }
  }

  // All leave; then there is room for exactly as many as at the beginning.
  void drain() {
    for (Person& person : people_) {
      if (person.state == State::waiting) ++cancelled_;
      person.client->leave();
    }
    desk_.loop.run();
    listen_after_drain();
    for (std::size_t i = 0; i < capacity_; ++i) {
      REQUIRE(people_[i].client->enter("system") == Answer::admitted);
    }
    REQUIRE(people_[capacity_].client->enter("bulk") == Answer::waiting);
    people_[capacity_].client->leave();
    for (std::size_t i = 0; i < capacity_; ++i) people_[i].client->leave();
    REQUIRE(desk_.loop.posted() == 0);
  }
  void listen_after_drain() {
    for (const Person& person : people_) {
      REQUIRE(person.client->admissions == person.admissions);
      REQUIRE(person.client->preemptions == person.preemptions);
    }
  }

  Desk& desk_;
  std::mt19937 random_;
  const std::size_t capacity_;
  const std::array<std::size_t, 4> queue_sizes_;
  const bool by_class_;
  std::vector<Person> people_;
  std::array<std::deque<Client*>, 4> lines_;  // by class, who waits or has a grant on its way
};

TEST_CASE_FIXTURE(Desk, "limiter: permits in are permits out over 100,000 random arrivals") {
  config.admission.max_concurrent_requests = 16;
  config.admission.queue_size = 24;
  config.admission.queue_timeout_secs = 1;
  Storm storm(*this, 1, 64, 16, {24, 0, 0, 0}, false);
  storm.run(100'000);
  CHECK(storm.admitted_ + storm.refused_ + storm.timed_out_ + storm.cancelled_ == storm.arrivals_);
  CHECK(storm.refused_ > 1000);
  CHECK(storm.timed_out_ > 1000);
  CHECK(storm.cancelled_ > 1000);
  CHECK(families.admission_queue_depth.value() == 0);
  CHECK(families.admission_inflight.value() == 0);
}

TEST_CASE_FIXTURE(SchedulerDesk,
                  "scheduler: permits in are permits out over 100,000 random arrivals") {
  limits(interactive).reserved_floor = 2;
  limits(system).reserved_floor = 1;
  for (const int rank : {bulk, default_class, interactive, system}) {
    limits(rank).queue_size = 8;
    limits(rank).queue_timeout_secs = 1;
    limits(rank).starvation_threshold_secs = 1;
  }
  Storm storm(*this, 2, 64, 10, {8, 8, 8, 8}, true);
  storm.run(100'000);
  CHECK(storm.admitted_ + storm.refused_ + storm.timed_out_ + storm.cancelled_ == storm.arrivals_);
  CHECK(storm.refused_ > 1000);
  CHECK(storm.timed_out_ > 1000);
  CHECK(storm.cancelled_ > 1000);
  CHECK(storm.victims_ > 1000);
}

}  // namespace
}  // namespace smg::test
