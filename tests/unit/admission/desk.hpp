// What the tests of admission share: a loop whose posted tasks run when the test says so, and
// clients that remember what they were told.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/admission/ticket.hpp"

namespace smg::test {

using Answer = Admission::Answer;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

class FakeLoop {
 public:
  void post(smg_task* task) {  // any thread
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  std::size_t posted() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }
  // Runs what is posted, also what comes meanwhile.
  void run() {
    while (run_one()) {
    }
  }
  // False: nothing was there.
  bool run_one() {
    smg_task* task = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return false;
      task = tasks_.front();
      tasks_.pop_front();
    }
    task->run(task);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<smg_task*> tasks_;
};

class Client final : public AdmissionTicket::Holder {
 public:
  Client(Admission& admission, FakeLoop& loop, const std::uint64_t& now)
      : admission_(admission), now_(now), ticket(new AdmissionTicket(*this, loop)) {}
  ~Client() { ticket->abandon(now_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Answer enter(std::string_view priority = {}, std::string_view tenant = "anonymous") {
    return admission_.enter(*ticket, {priority, tenant, now_}, refusal);
  }
  // The code of the refusal; empty: none.
  std::string expire() {
    const auto refused = ticket->expire(now_);
    if (refused) refusal = *refused;
    return refused ? std::string(refused->code) : "";
  }
  void leave() { ticket->leave(now_); }
  void admitted() override { ++admissions; }
  void preempted() override { ++preemptions; }

 private:
  Admission& admission_;
  const std::uint64_t& now_;

 public:
  AdmissionTicket* ticket;
  AdmissionRefusal refusal;
  int admissions = 0;
  int preemptions = 0;
};

struct Desk {
  Desk() { config.admission.max_concurrent_requests = 2; }

  // Of what `config` says; made at the first use.
  Admission& admission() {
    if (!made_) made_ = make_admission(config, families, [this] { ++wakes; });
    return *made_;
  }
  Client& client() {
    return *clients.emplace_back(std::make_unique<Client>(admission(), loop, now));
  }
  std::vector<Client*> many(int count) {
    std::vector<Client*> made;
    for (int i = 0; i < count; ++i) made.push_back(&client());
    return made;
  }
  // One that was admitted at once.
  Client& running(std::string_view priority = {}, std::string_view tenant = "anonymous") {
    Client& made = client();
    CHECK(made.enter(priority, tenant) == Answer::admitted);
    return made;
  }
  Client& waiting(std::string_view priority = {}, std::string_view tenant = "anonymous") {
    Client& made = client();
    CHECK(made.enter(priority, tenant) == Answer::waiting);
    return made;
  }
  // Turned away with this code.
  void refused(std::string_view code, std::string_view priority = {},
               std::string_view tenant = "anonymous") {
    Client& made = client();
    CHECK(made.enter(priority, tenant) == Answer::refused);
    CHECK(made.refusal.code == code);
  }

  std::uint64_t now = 1000 * kSecond;
  Metrics metrics{MetricsOptions{}};
  Families families{metrics};
  Config config;
  FakeLoop loop;
  int wakes = 0;

 private:
  std::unique_ptr<Admission> made_;

 public:
  std::vector<std::unique_ptr<Client>> clients;  // go first

  ~Desk() {
    clients.clear();
    loop.run();
  }
};

}  // namespace smg::test
