#include "timer_wheel.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <vector>

using namespace smg::sim;

namespace {

struct Alarm {
  Alarm(TimerWheel& wheel, const std::int64_t& now)
      : timer(
            wheel, [](void* self) { static_cast<Alarm*>(self)->fired(); }, this),
        clock(now) {}
  void fired() {
    fired_at.push_back(clock);
    if (again > 0) timer.arm(clock + again);
  }
  Timer timer;
  const std::int64_t& clock;
  std::int64_t again = 0;
  std::vector<std::int64_t> fired_at;
};

}  // namespace

TEST_CASE("timers fire at their time, near or far, and not after they are cancelled") {
  std::int64_t now = 1'000'003;
  TimerWheel wheel(now);
  CHECK(wheel.timeout(now) == -1);
  std::minstd_rand random(7);
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<std::int64_t> due;
  for (int i = 0; i < 2000; ++i) {
    alarms.push_back(std::make_unique<Alarm>(wheel, now));
    due.push_back(now + 1 + static_cast<std::int64_t>(random() % 30000));
    alarms.back()->timer.arm(due.back());
  }
  for (std::size_t i = 0; i < 2000; i += 3) alarms[i]->timer.cancel();
  while (wheel.timeout(now) >= 0) {
    now += std::max(1, wheel.timeout(now));
    wheel.run(now);
  }
  for (std::size_t i = 0; i < 2000; ++i) {
    const bool cancelled = i % 3 == 0;
    CHECK(alarms[i]->fired_at == (cancelled ? std::vector<std::int64_t>{} : std::vector{due[i]}));
  }
}

TEST_CASE("a timer may arm itself again") {
  std::int64_t now = 5;
  TimerWheel wheel(now);
  Alarm alarm(wheel, now);
  alarm.again = 20;
  alarm.timer.arm(10);
  while (now < 100) wheel.run(++now);
  CHECK(alarm.fired_at == std::vector<std::int64_t>{10, 30, 50, 70, 90});
}

TEST_CASE("a time in the past fires one tick later, after a long stall too") {
  std::int64_t now = 50;
  TimerWheel wheel(now);
  Alarm alarm(wheel, now);
  alarm.timer.arm(3);
  CHECK(wheel.timeout(now) == 1);
  now += 100'000;
  CHECK(wheel.timeout(now) == 0);
  wheel.run(now);
  CHECK(alarm.fired_at == std::vector<std::int64_t>{100'050});
}
