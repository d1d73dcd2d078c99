#include "host/loop/loop.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include "host/plugin/fault_meter.hpp"

namespace smg {
namespace {

thread_local Loop* t_current = nullptr;

std::uint32_t ready_bits(std::uint32_t epoll_events) {
  std::uint32_t bits = 0;
  if ((epoll_events & (EPOLLIN | EPOLLPRI)) != 0) bits |= SMG_READY_IN;
  if ((epoll_events & EPOLLOUT) != 0) bits |= SMG_READY_OUT;
  if ((epoll_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) bits |= SMG_READY_HANGUP;
  return bits;
}

// Ends the lists of tasks: host_next of a task is NULL only while it waits nowhere.
smg_task g_end{};

void set_next(smg_task* task, smg_task* next) {
  __atomic_store_n(&task->host_next, next, __ATOMIC_RELAXED);
}

// Says whose function threw: a library's name, as far as the loader knows it.
void count_stray(const void* function) noexcept {
  Dl_info info{};
  std::array<char, 200> text;
  const bool known = dladdr(function, &info) != 0 && info.dli_fname != nullptr;
  const auto end = fmt::format_to_n(text.data(), text.size(), "a watch, timer or task of {}",
                                    known ? info.dli_fname : "an unknown library");
  FaultMeter::count_exception_at(0, {text.data(), std::min<std::size_t>(end.size, text.size())});
}

template <class Struct, class... Arguments>
void call_back(void (*function)(Struct*, Arguments...), Struct* of, Arguments... arguments) {
  try {
    function(of, arguments...);
  } catch (...) {
    count_stray(reinterpret_cast<const void*>(function));
  }
}

}  // namespace

Loop::Loop(std::uint32_t index)
    : index_(index),
      now_(clock()),
      returns_(&g_end),
      deferred_(&g_end),
      scratch_(std::make_unique<char[]>(kScratchSize)),
      posted_(&g_end) {
  tick_ = now_ >> kTickShift;
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make an event loop");
  }
}

Loop::~Loop() {
  close(wake_);
  close(epoll_);
}

Loop* Loop::current() {
  return t_current;
}

std::uint64_t Loop::clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void Loop::run() {
  t_current = this;
  std::array<epoll_event, 512> events;
  while (!stopping_.load(std::memory_order_acquire)) {
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_timeout());
    now_ = clock();
    for (int i = 0; i < count; ++i) {
      auto* watch = static_cast<smg_watch*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (watch == nullptr)
        continue;  // the wake-up; its counter never needs reading when edge-triggered
      if (watch->host_state == 0) continue;  // unwatched earlier in this turn
      call_back(watch->ready, watch, ready_bits(events[static_cast<std::size_t>(i)].events));
      drain_returns();
    }
    run_timers();
    run_posted();
    run_deferred();
  }
  run_posted();
  run_deferred();
  t_current = nullptr;
}

void Loop::stop() {
  stopping_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
}

bool Loop::watch(smg_watch* watch) {
  if (watch->host_state != 0) {
    errno = EEXIST;
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = watch;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, watch->fd, &event) != 0) return false;
  watch->host_state = index_ + 1;
  return true;
}

bool Loop::unwatch(smg_watch* watch) {
  if (watch->host_state == 0) return true;
  if (watch->host_state != index_ + 1) return false;
  watch->host_state = 0;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, watch->fd, nullptr);
  return true;
}

void Loop::set_timer(smg_timer* timer, std::uint64_t due) {
  clear_timer(timer);
  timer->due = due;
  std::uint64_t tick = due >> kTickShift;
  if (tick <= tick_) tick = tick_ + 1;
  const std::size_t slot = tick % kSlots;
  timer->host_next = slots_[slot];
  timer->host_link = &slots_[slot];
  if (timer->host_next != nullptr) timer->host_next->host_link = &timer->host_next;
  slots_[slot] = timer;
  occupied_[slot / 64] |= 1ull << (slot % 64);
}

void Loop::clear_timer(smg_timer* timer) {
  if (timer->host_link == nullptr) return;
  *timer->host_link = timer->host_next;
  if (timer->host_next != nullptr) timer->host_next->host_link = timer->host_link;
  timer->host_link = nullptr;
  timer->host_next = nullptr;
}

int Loop::wait_timeout() const {
  if (deferred_ != &g_end) return 0;
  // The next occupied slot, at most one rotation away. Its slot bit may be a left-over: then the
  // turn is empty.
  for (std::uint64_t ahead = 1; ahead <= kSlots;) {
    const std::size_t slot = (tick_ + ahead) % kSlots;
    const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
    if (word == 0) {
      ahead += 64 - slot % 64;
      continue;
    }
    ahead += static_cast<std::uint64_t>(std::countr_zero(word));
    const std::uint64_t due = (tick_ + ahead + 1) << kTickShift;
    const std::uint64_t now = clock();
    return due <= now ? 0 : static_cast<int>((due - now) / 1'000'000 + 1);
  }
  return -1;
}

void Loop::run_timers() {
  // A slot is run when its tick has passed, so a timer is never early.
  const std::uint64_t last = (now_ >> kTickShift) - 1;
  if (last <= tick_) return;
  if (last - tick_ > kSlots) tick_ = last - kSlots;
  while (tick_ < last) {
    ++tick_;
    const std::size_t slot = tick_ % kSlots;
    if ((occupied_[slot / 64] >> (slot % 64) & 1u) == 0) continue;
    occupied_[slot / 64] &= ~(1ull << (slot % 64));
    smg_timer* list = slots_[slot];
    slots_[slot] = nullptr;
    if (list != nullptr) list->host_link = &list;
    while (list != nullptr) {
      smg_timer* timer = list;
      clear_timer(timer);
      if ((timer->due >> kTickShift) > tick_) {
        set_timer(timer, timer->due);  // a later rotation
        continue;
      }
      call_back(timer->fired, timer);
      drain_returns();
    }
  }
}

bool Loop::claim(smg_task* task) {
  smg_task* none = nullptr;
  return __atomic_compare_exchange_n(&task->host_next, &none, &g_end, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

void Loop::post(smg_task* task) {
  smg_task* head = posted_.load(std::memory_order_relaxed);
  do {
    set_next(task, head);
  } while (!posted_.compare_exchange_weak(head, task, std::memory_order_release,
                                          std::memory_order_relaxed));
  if (head == &g_end) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
  }
}

void Loop::run_posted() {
  smg_task* stack = posted_.exchange(&g_end, std::memory_order_acquire);
  smg_task* queue = &g_end;
  while (stack != &g_end) {
    smg_task* next = stack->host_next;
    set_next(stack, queue);
    queue = stack;
    stack = next;
  }
  run_list(queue);
}

void Loop::defer(smg_task* task) {
  set_next(task, &g_end);
  if (deferred_ == &g_end) {
    deferred_ = task;
  } else {
    set_next(deferred_last_, task);
  }
  deferred_last_ = task;
}

void Loop::run_deferred() {
  // What deferred tasks defer themselves waits for the next turn, so that sockets get theirs in
  // between.
  run_list(std::exchange(deferred_, &g_end));
}

void Loop::run_list(smg_task* list) {
  while (list != &g_end) {
    smg_task* task = list;
    list = task->host_next;
    set_next(task, nullptr);  // it may be posted again, or gone, when it has run
    call_back(task->run, task);
    drain_returns();
  }
}

void Loop::at_return(smg_task* task) {
  set_next(task, returns_);
  returns_ = task;
}

void Loop::drain_returns() {
  while (returns_ != &g_end) {
    smg_task* task = returns_;
    returns_ = task->host_next;
    set_next(task, nullptr);
    call_back(task->run, task);
  }
}

}  // namespace smg
