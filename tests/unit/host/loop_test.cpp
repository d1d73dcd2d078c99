#include "host/loop/loop.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "host/loop/loop_group.hpp"
#include "host/loop/resolver.hpp"

using namespace smg;

namespace {

struct Task : smg_task {
  explicit Task(void (*fn)(Task&)) : smg_task{}, fn_(fn) {
    run = [](smg_task* task) { static_cast<Task*>(task)->fn_(*static_cast<Task*>(task)); };
  }
  Loop* loop = nullptr;
  std::vector<int>* log = nullptr;
  int number = 0;

 private:
  void (*fn_)(Task&);
};

struct Timer : smg_timer {
  Timer() : smg_timer{} {}
  Loop* loop = nullptr;
  std::uint64_t fired_at = 0;
  int* left = nullptr;
};

}  // namespace

TEST_CASE("posted tasks run in order of posting") {
  Loop loop(0);
  std::vector<int> log;
  std::vector<Task> tasks;
  for (int i = 0; i < 100; ++i) {
    tasks.emplace_back([](Task& task) {
      task.log->push_back(task.number);
      if (task.number == 99) task.loop->stop();
    });
    tasks.back().loop = &loop;
    tasks.back().log = &log;
    tasks.back().number = i;
  }
  std::thread poster([&] {
    for (auto& task : tasks) loop.post(&task);
  });
  loop.run();
  poster.join();
  REQUIRE(log.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(log[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("timers are never early, late by little, and can be moved and cleared from anywhere") {
  Loop loop(0);
  int left = 40;
  std::vector<Timer> timers(41);
  Timer& cleared = timers[40];
  for (std::size_t i = 0; i < timers.size(); ++i) {
    timers[i].loop = &loop;
    timers[i].left = &left;
    timers[i].fired = [](smg_timer* timer) {
      auto* self = static_cast<Timer*>(timer);
      self->fired_at = Loop::clock();
      if (--*self->left == 0) self->loop->stop();
    };
    loop.set_timer(&timers[i], Loop::clock() + i * 5'000'000);
  }
  loop.clear_timer(&cleared);
  loop.clear_timer(&cleared);
  loop.set_timer(&timers[0], Loop::clock() + 100'000'000);
  loop.run();
  CHECK(cleared.fired_at == 0);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(timers[i].fired_at >= timers[i].due);
  }
}

TEST_CASE("a timer may set itself again from its own call, and far ones wait their rotations") {
  Loop loop(0);
  Timer timer;
  Timer far;
  int left = 3;
  far.fired = [](smg_timer*) {};
  loop.set_timer(&far, Loop::clock() + 3'600'000'000'000);
  timer.loop = &loop;
  timer.left = &left;
  timer.fired = [](smg_timer* self_timer) {
    auto* self = static_cast<Timer*>(self_timer);
    if (--*self->left == 0) {
      self->loop->stop();
    } else {
      self->loop->set_timer(self, Loop::clock() + 1'000'000);
    }
  };
  loop.set_timer(&timer, Loop::clock());
  loop.run();
  CHECK(left == 0);
  CHECK(far.host_link != nullptr);
  loop.clear_timer(&far);
}

TEST_CASE("what was unwatched in a turn is not called in it any more") {
  Loop loop(0);
  struct Watch : smg_watch {
    Loop* loop;
    Watch* other;
    int calls;
  };
  int first[2];
  int second[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, first) == 0);
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, second) == 0);
  Watch a{};
  Watch b{};
  for (auto [watch, other, fd] : {std::tuple{&a, &b, first[0]}, std::tuple{&b, &a, second[0]}}) {
    watch->fd = fd;
    watch->loop = &loop;
    watch->other = other;
    watch->ready = [](smg_watch* self_watch, std::uint32_t) {
      auto* self = static_cast<Watch*>(self_watch);
      ++self->calls;
      self->loop->unwatch(self->other);
      self->loop->stop();
    };
    REQUIRE(loop.watch(watch));
  }
  loop.run();
  CHECK(a.calls + b.calls == 1);
  for (const int fd : {first[0], first[1], second[0], second[1]}) close(fd);
}

TEST_CASE("at_return tasks run when the running call is over, before the next") {
  Loop loop(0);
  static std::vector<int> log;
  log.clear();
  static Task inner([](Task&) { log.push_back(2); });
  Task first([](Task& task) {
    task.loop->at_return(&inner);
    log.push_back(1);
  });
  Task second([](Task& task) {
    log.push_back(3);
    task.loop->stop();
  });
  first.loop = second.loop = &loop;
  loop.post(&first);
  loop.post(&second);
  loop.run();
  CHECK(log == std::vector<int>{1, 2, 3});
}

TEST_CASE("a group runs work on the loop that was named and waits for it") {
  LoopGroup loops(2);
  loops.start([](Loop&) {});
  for (std::uint32_t i = 0; i < loops.count(); ++i) {
    Loop* ran = nullptr;
    loops.run_on(i, [&] { ran = Loop::current(); });
    CHECK(ran == &loops.at(i));
  }
  loops.stop();
}

TEST_CASE("literals resolve at once, names on the asking loop, nonsense with a reason") {
  LoopGroup loops(1);
  Resolver resolver(loops);
  loops.start([](Loop&) {});
  struct Answer {
    std::atomic<int> done{0};
    std::uint32_t count = 0;
    std::uint16_t family = 0;
    bool on_loop = false;
    std::string detail;
  };
  const auto take = [](void* context, const smg_address* addresses, std::uint32_t count,
                       smg_view detail) {
    auto* answer = static_cast<Answer*>(context);
    answer->count = count;
    if (count > 0) answer->family = addresses[0].family;
    answer->on_loop = Loop::current() != nullptr && Loop::current()->index() == 0;
    answer->detail.assign(detail.data, detail.size);
    answer->done.store(1);
  };
  for (const auto& [name, family] : {std::pair{"127.0.0.1", 4}, std::pair{"::1", 6}}) {
    Answer answer;
    loops.run_on(0, [&] { CHECK(resolver.resolve(name, 80, take, &answer) == 0); });
    CHECK(answer.count == 1);
    CHECK(answer.family == family);
  }
  Answer local;
  loops.run_on(0, [&] { resolver.resolve("localhost", 80, take, &local); });
  while (local.done.load() == 0) std::this_thread::yield();
  CHECK(local.count > 0);
  CHECK(local.on_loop);
  Answer bad;
  loops.run_on(0, [&] { resolver.resolve("name.invalid", 80, take, &bad); });
  while (bad.done.load() == 0) std::this_thread::yield();
  CHECK(bad.count == 0);
  CHECK(bad.detail.find("name.invalid") != std::string::npos);
  loops.stop();
}
