// A gateway's services for plugin tests: real epoll loops, a clock that can be moved forward, names
// to order.
//
// TestHost hands out smg_host tables. With one loop (the default) everything runs on the test's own
// thread, in run_until(); with several, each has a thread of its own between start() and stop(),
// and run_on() works there. The last loop is the control loop. Real time passes too: now() is the
// monotonic clock plus what advance() added.
#pragma once

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "smg/host.h"
#include "smg/plugin.h"

namespace smg::test {

inline std::uint64_t monotonic() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

class TestLoop {
 public:
  explicit TestLoop(std::uint32_t index, const std::atomic<std::uint64_t>& skipped)
      : index_(index), skipped_(skipped), scratch_(128 * 1024) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  }
  ~TestLoop() {
    turn(0);
    close(wake_);
    close(epoll_);
  }
  TestLoop(const TestLoop&) = delete;
  TestLoop& operator=(const TestLoop&) = delete;

  std::uint32_t index() const { return index_; }
  std::uint64_t turns() const { return turns_; }
  std::uint64_t now() const { return monotonic() + skipped_.load(); }
  std::size_t watched() const { return watched_; }
  std::size_t timers() const { return timers_.size(); }

  void turn(int wait_ms) {
    TestLoop* before = current();
    current() = this;
    ++turns_;
    epoll_event events[64];
    const int count = epoll_wait(epoll_, events, 64, deferred_.empty() ? wait_ms : 0);
    for (int i = 0; i < count; ++i) {
      auto* watch = static_cast<smg_watch*>(events[i].data.ptr);
      if (watch == nullptr || watch->host_state == 0) continue;
      std::uint32_t bits = 0;
      if ((events[i].events & (EPOLLIN | EPOLLPRI)) != 0) bits |= SMG_READY_IN;
      if ((events[i].events & EPOLLOUT) != 0) bits |= SMG_READY_OUT;
      if ((events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) bits |= SMG_READY_HANGUP;
      watch->ready(watch, bits);
      spoil_scratch();
    }
    for (;;) {
      const auto due = std::find_if(timers_.begin(), timers_.end(),
                                    [&](smg_timer* timer) { return timer->due <= now(); });
      if (due == timers_.end()) break;
      smg_timer* timer = *due;
      clear_timer(timer);
      timer->fired(timer);
    }
    std::vector<smg_task*> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (smg_task* task : posted) task->run(task);
    std::vector<smg_task*> deferred;
    deferred.swap(deferred_);
    for (smg_task* task : deferred) {
      task->run(task);
      spoil_scratch();
    }
    current() = before;
  }

  // Turns until `condition` holds. False: it did not within the time.
  bool run_until(const std::function<bool()>& condition, int seconds = 10) {
    const std::uint64_t end = monotonic() + static_cast<std::uint64_t>(seconds) * 1'000'000'000u;
    while (!condition()) {
      if (monotonic() > end) return false;
      turn(2);
    }
    return true;
  }

  bool watch(smg_watch* watch) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = watch;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, watch->fd, &event) != 0) return false;
    watch->host_state = 1;
    ++watched_;
    return true;
  }
  void unwatch(smg_watch* watch) {
    if (watch->host_state == 0) return;
    watch->host_state = 0;
    --watched_;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, watch->fd, nullptr);
  }
  void set_timer(smg_timer* timer, std::uint64_t due) {
    clear_timer(timer);
    timer->due = due;
    timer->host_link = &timer->host_next;
    timers_.push_back(timer);
  }
  void clear_timer(smg_timer* timer) {
    if (timer->host_link == nullptr) return;
    timer->host_link = nullptr;
    std::erase(timers_, timer);
  }
  void post(smg_task* task) {
    const std::lock_guard lock(mutex_);
    posted_.push_back(task);
    wake();
  }
  void defer(smg_task* task) { deferred_.push_back(task); }
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
  }
  smg_buffer scratch() { return {scratch_.data(), scratch_.size()}; }

  static TestLoop*& current() {
    static thread_local TestLoop* loop = nullptr;
    return loop;
  }

 private:
  // Nothing may be expected in it at the next call-back.
  void spoil_scratch() { std::memset(scratch_.data(), 0x5a, 4096); }

  std::uint32_t index_;
  const std::atomic<std::uint64_t>& skipped_;
  int epoll_ = -1;
  int wake_ = -1;
  std::uint64_t turns_ = 0;
  std::size_t watched_ = 0;
  std::vector<char> scratch_;
  std::vector<smg_timer*> timers_;
  std::vector<smg_task*> deferred_;
  std::mutex mutex_;
  std::vector<smg_task*> posted_;
};

class TestHost {
 public:
  explicit TestHost(std::uint32_t loops = 1) {
    for (std::uint32_t i = 0; i < loops; ++i) {
      loops_.push_back(std::make_unique<TestLoop>(i, skipped_));
    }
    host_.struct_size = sizeof host_;
    host_.context = this;
    host_.service = [](const smg_host* host, const char* id) -> const void* {
      return of(host).service(id);
    };
    before_ = TestLoop::current();
    if (loops == 1) TestLoop::current() = loops_[0].get();
  }
  ~TestHost() {
    stop();
    TestLoop::current() = before_;
  }
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  const smg_host* raw() const { return &host_; }
  TestLoop& loop(std::uint32_t index = 0) { return *loops_[index]; }
  bool run_until(const std::function<bool()>& condition, int seconds = 10) {
    return loop().run_until(condition, seconds);
  }
  void advance(std::uint64_t ns) { skipped_ += ns; }

  // With several loops: a thread for each, until stop().
  void start() {
    running_ = true;
    for (auto& loop : loops_) {
      threads_.emplace_back([this, &loop = *loop] {
        TestLoop::current() = &loop;
        while (running_) loop.turn(5);
        loop.turn(0);
        TestLoop::current() = nullptr;
      });
    }
  }
  void stop() {
    running_ = false;
    for (auto& loop : loops_) loop->wake();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }
  // Runs `body` on the loop's thread and waits for it.
  void run_on(std::uint32_t index, std::function<void()> body) {
    struct Call : smg_task {
      std::function<void()> body;
      std::promise<void> done;
    };
    auto* call = new Call;
    call->body = std::move(body);
    call->run = [](smg_task* task) {
      const std::unique_ptr<Call> self(static_cast<Call*>(task));
      self->body();
      self->done.set_value();
    };
    auto done = call->done.get_future();
    loops_[index]->post(call);
    done.wait();
  }

  // What resolve() answers for a name; literals need no entry. Answers to names come in a later
  // turn.
  std::map<std::string, std::vector<smg_address>> names;
  // Options as TOML writes them, over the defaults of `plugin`.
  std::map<std::string, std::string> options;
  const smg_plugin* plugin = nullptr;

  std::vector<std::string> log_lines() {
    const std::lock_guard lock(mutex_);
    return log_lines_;
  }

  static smg_address address(const std::string& literal, std::uint16_t port) {
    smg_address result{};
    result.port = port;
    if (inet_pton(AF_INET, literal.c_str(), result.bytes) == 1) result.family = 4;
    if (inet_pton(AF_INET6, literal.c_str(), result.bytes) == 1) result.family = 6;
    return result;
  }

 private:
  struct Answer : smg_task {
    TestHost* host = nullptr;
    TestLoop* loop = nullptr;
    std::uint64_t handle = 0;
    std::string name;
    std::uint16_t port = 0;
    smg_resolved_fn fn = nullptr;
    void* context = nullptr;
    bool cancelled = false;
  };

  static TestHost& of(const smg_host* host) { return *static_cast<TestHost*>(host->context); }
  static std::string str(smg_view view) { return {view.data, static_cast<std::size_t>(view.size)}; }

  const void* service(const std::string& id) {
    if (id == SMG_SERVICE_LOG) return &log_table();
    if (id == SMG_SERVICE_CLOCK) return &clock_table();
    if (id == SMG_SERVICE_OPTIONS) return &options_table();
    if (id == SMG_SERVICE_LOOP) return &loop_table();
    if (id == SMG_SERVICE_RESOLVE) return &resolve_table();
    return nullptr;
  }

  static const smg_log_service& log_table() {
    static const smg_log_service table = {
        sizeof(smg_log_service), 0,
        [](const smg_host* host, std::uint32_t, smg_view text) {
          const std::lock_guard lock(of(host).mutex_);
          of(host).log_lines_.push_back(str(text));
        },
        [](const smg_host*, std::uint32_t) -> std::uint32_t { return 1; }};
    return table;
  }

  static const smg_clock_service& clock_table() {
    static const smg_clock_service table = {sizeof(smg_clock_service), 0,
                                            [](const smg_host* host) -> std::uint64_t {
                                              return monotonic() + of(host).skipped_.load();
                                            },
                                            [](const smg_host*) -> std::uint64_t {
                                              return static_cast<std::uint64_t>(time(nullptr)) *
                                                     1000;
                                            }};
    return table;
  }

  // The TOML text of an option, or nothing.
  bool option(smg_view name, std::string& text) const {
    if (const auto given = options.find(str(name)); given != options.end()) {
      text = given->second;
      return true;
    }
    for (std::uint32_t i = 0; plugin != nullptr && i < plugin->option_count; ++i) {
      const smg_option& declared = plugin->options[i];
      if (str(declared.name) != str(name) || declared.default_value.size == 0) continue;
      text = str(declared.default_value);
      return true;
    }
    return false;
  }

  static const smg_options_service& options_table() {
    static const smg_options_service table = {
        sizeof(smg_options_service),
        0,
        [](const smg_host* host, smg_view name, std::uint32_t* value) -> smg_status {
          std::string text;
          if (!of(host).option(name, text)) return SMG_E_NOT_FOUND;
          *value = text == "true" ? 1 : 0;
          return SMG_OK;
        },
        [](const smg_host* host, smg_view name, std::int64_t* value) -> smg_status {
          std::string text;
          if (!of(host).option(name, text)) return SMG_E_NOT_FOUND;
          *value = std::stoll(text);
          return SMG_OK;
        },
        [](const smg_host* host, smg_view name, double* value) -> smg_status {
          std::string text;
          if (!of(host).option(name, text)) return SMG_E_NOT_FOUND;
          *value = std::stod(text);
          return SMG_OK;
        },
        [](const smg_host* host, smg_view name, smg_view* value) -> smg_status {
          std::string text;
          if (!of(host).option(name, text)) return SMG_E_NOT_FOUND;
          if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
          const std::lock_guard lock(of(host).mutex_);
          const std::string& kept = of(host).strings_[str(name)] = text;
          *value = {kept.data(), kept.size()};
          return SMG_OK;
        },
        [](const smg_host*, smg_view, const smg_view**, std::uint32_t*) -> smg_status {
          return SMG_E_NOT_FOUND;
        }};
    return table;
  }

  static const smg_loop_service& loop_table() {
    static const smg_loop_service table = {
        sizeof(smg_loop_service),
        0,
        [](const smg_host* host) { return static_cast<std::uint32_t>(of(host).loops_.size()); },
        [](const smg_host*) {
          return TestLoop::current() == nullptr ? SMG_LOOP_NONE : TestLoop::current()->index();
        },
        [](const smg_host*, smg_watch* watch) -> smg_status {
          return TestLoop::current()->watch(watch) ? SMG_OK : SMG_E_INTERNAL;
        },
        [](const smg_host*, smg_watch* watch) { TestLoop::current()->unwatch(watch); },
        [](const smg_host*, smg_timer* timer, std::uint64_t due) {
          TestLoop::current()->set_timer(timer, due);
        },
        [](const smg_host*, smg_timer* timer) { TestLoop::current()->clear_timer(timer); },
        [](const smg_host* host, std::uint32_t loop, smg_task* task) {
          of(host).loops_[loop]->post(task);
        },
        [](const smg_host*, smg_task* task) { TestLoop::current()->defer(task); },
        [](const smg_host*) { return TestLoop::current()->scratch(); }};
    return table;
  }

  static const smg_resolve_service& resolve_table() {
    static const smg_resolve_service table = {
        sizeof(smg_resolve_service), 0,
        [](const smg_host* host, smg_view name, std::uint16_t port, smg_resolved_fn fn,
           void* context) { return of(host).resolve(str(name), port, fn, context); },
        [](const smg_host* host, std::uint64_t handle) {
          const std::lock_guard lock(of(host).mutex_);
          for (auto& answer : of(host).answers_) {
            if (answer->handle == handle) answer->cancelled = true;
          }
        }};
    return table;
  }

  std::uint64_t resolve(const std::string& name, std::uint16_t port, smg_resolved_fn fn,
                        void* context) {
    if (const smg_address literal = address(name, port);
        literal.family != 0 && !names.contains(name)) {
      fn(context, &literal, 1, {});
      return 0;
    }
    auto answer = std::make_unique<Answer>();
    answer->host = this;
    answer->name = name;
    answer->port = port;
    answer->fn = fn;
    answer->context = context;
    answer->run = [](smg_task* task) {
      auto& self = *static_cast<Answer*>(task);
      if (self.cancelled) return;
      static const std::string kUnknown = "no such name";
      const auto found = self.host->names.find(self.name);
      if (found == self.host->names.end()) {
        return self.fn(self.context, nullptr, 0, {kUnknown.data(), kUnknown.size()});
      }
      std::vector<smg_address> addresses = found->second;
      for (smg_address& entry : addresses) {
        if (entry.port == 0) entry.port = self.port;
      }
      self.fn(self.context, addresses.data(), static_cast<std::uint32_t>(addresses.size()), {});
    };
    const std::lock_guard lock(mutex_);
    answer->handle = answers_.size() + 1;
    answers_.push_back(std::move(answer));
    loops_[TestLoop::current()->index()]->post(answers_.back().get());
    return answers_.back()->handle;
  }

  smg_host host_{};
  TestLoop* before_ = nullptr;  // of a host made earlier on this thread
  std::atomic<std::uint64_t> skipped_{0};
  std::vector<std::unique_ptr<TestLoop>> loops_;
  std::vector<std::thread> threads_;
  std::atomic<bool> running_{false};
  std::mutex mutex_;
  std::vector<std::string> log_lines_;
  std::map<std::string, std::string> strings_;
  std::vector<std::unique_ptr<Answer>> answers_;
};

}  // namespace smg::test
