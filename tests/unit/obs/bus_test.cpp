#include "host/bus/bus.hpp"

#include <doctest/doctest.h>

#include <array>
#include <future>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "host/base/views.hpp"
#include "host/metrics/families.hpp"
#include "tests/support/wait.hpp"

using smg::Bus;
using smg::text;
using smg::view;
using smg::test::eventually;

namespace {

smg_event plain(std::uint32_t type, std::string_view url = "http://w:1") {
  return {sizeof(smg_event), type, 0, 0, 7, view(url)};
}

std::uint64_t fixed_clock() {
  return 42;
}

// Collects copies of what it hears; may be held up.
struct Listener {
  std::mutex mutex;
  std::vector<std::uint64_t> sequences;
  std::vector<std::uint32_t> types;
  std::promise<void> entered;
  std::shared_future<void> gate;
  bool gated = false;

  std::size_t count() {
    const std::lock_guard lock(mutex);
    return sequences.size();
  }
  static void hear(void* context, const smg_event* event) {
    auto& self = *static_cast<Listener*>(context);
    {
      const std::lock_guard lock(self.mutex);
      self.sequences.push_back(event->sequence);
      self.types.push_back(event->type);
    }
    if (self.gated) {
      self.gated = false;
      self.entered.set_value();
      self.gate.wait();
    }
  }
};

}  // namespace

TEST_CASE("a subscriber hears the types it asked for, in order of publication") {
  Bus bus(fixed_clock);
  Listener listener;
  bus.subscribe(
      {.name = "t",
       .types = SMG_EVENT_MASK(SMG_EVENT_WORKER_ADDED) | SMG_EVENT_MASK(SMG_EVENT_WORKER_REMOVED),
       .fn = Listener::hear,
       .context = &listener});
  CHECK(bus.publish(plain(SMG_EVENT_WORKER_ADDED)));
  CHECK(bus.publish(plain(SMG_EVENT_WORKER_UPDATED)));
  CHECK(bus.publish(plain(SMG_EVENT_WORKER_REMOVED)));
  bus.stop();
  CHECK(listener.types ==
        std::vector<std::uint32_t>{SMG_EVENT_WORKER_ADDED, SMG_EVENT_WORKER_REMOVED});
  CHECK(listener.sequences == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("events are copied whole, with sequence and time") {
  struct Seen {
    std::string url, subject, words, source, timestamp, mode;
    std::uint64_t time = 0;
    std::vector<std::int32_t> waiting;
    std::vector<std::uint64_t> blocks;
    std::vector<std::uint32_t> tokens;
  } seen;
  Bus bus(fixed_clock);
  const auto hear = [](void* context, const smg_event* event) {
    auto& out = *static_cast<Seen*>(context);
    out.url = text(event->worker_url);
    if (event->type == SMG_EVENT_WORKER_STATUS) {
      const auto& change = *reinterpret_cast<const smg_event_change*>(event);
      out.subject = text(change.subject);
      out.words = text(change.text);
      out.time = event->time;
    } else if (event->type == SMG_EVENT_LOAD_REPORT) {
      const auto& load = *reinterpret_cast<const smg_event_load*>(event);
      out.source = text(load.source);
      out.timestamp = text(load.report.timestamp);
      for (std::uint32_t i = 0; i < load.report.rank_count; ++i) {
        out.waiting.push_back(load.report.ranks[i].waiting_requests);
        out.mode = text(load.report.ranks[i].disagg_mode);
      }
    } else if (event->type == SMG_EVENT_KV_BLOCKS) {
      const auto& kv = *reinterpret_cast<const smg_event_kv*>(event);
      out.blocks.assign(kv.blocks, kv.blocks + kv.block_count);
      out.tokens.assign(kv.tokens, kv.tokens + kv.token_count);
    }
  };
  bus.subscribe({.name = "t", .fn = hear, .context = &seen});
  {
    std::string url = "http://gone:1", subject = "that", words = "it came back";
    smg_event_change change{};
    change.event = plain(SMG_EVENT_WORKER_STATUS, url);
    change.event.struct_size = sizeof(change);
    change.subject = view(subject);
    change.text = view(words);
    CHECK(bus.publish(change.event));
    url.assign(url.size(), '#');
    subject.assign(subject.size(), '#');
    words.assign(words.size(), '#');
  }
  {
    // Ranks of a side whose struct has grown.
    struct Grown {
      smg_rank_load rank;
      std::uint64_t more;
    };
    std::array<Grown, 2> ranks{};
    for (auto& rank : ranks) rank.rank.struct_size = sizeof(Grown);
    ranks[0].rank.waiting_requests = 3;
    ranks[1].rank.waiting_requests = 4;
    ranks[1].rank.disagg_mode = view("decode");
    smg_event_load load{};
    load.event = plain(SMG_EVENT_LOAD_REPORT);
    load.event.struct_size = sizeof(load);
    load.source = view("m");
    load.report.struct_size = sizeof(load.report);
    load.report.rank_count = 2;
    load.report.ranks = &ranks[0].rank;
    load.report.rank_stride = sizeof(Grown);
    load.report.timestamp = view("noon");
    CHECK(bus.publish(load.event));
    ranks = {};
  }
  {
    std::vector<std::uint64_t> blocks{1, 2, 3};
    std::vector<std::uint32_t> tokens{9, 8};
    smg_event_kv kv{};
    kv.event = plain(SMG_EVENT_KV_BLOCKS);
    kv.event.struct_size = sizeof(kv);
    kv.blocks = blocks.data();
    kv.block_count = blocks.size();
    kv.tokens = tokens.data();
    kv.token_count = tokens.size();
    CHECK(bus.publish(kv.event));
    blocks.assign(3, 0);
    tokens.assign(2, 0);
  }
  bus.stop();
  CHECK(seen.subject == "that");
  CHECK(seen.words == "it came back");
  CHECK(seen.time == 42);
  CHECK(seen.source == "m");
  CHECK(seen.timestamp == "noon");
  CHECK(seen.waiting == std::vector<std::int32_t>{3, 4});
  CHECK(seen.mode == "decode");
  CHECK(seen.blocks == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(seen.tokens == std::vector<std::uint32_t>{9, 8});
  CHECK(seen.url == "http://w:1");
}

TEST_CASE("what is no event is refused") {
  Bus bus(fixed_clock);
  Listener listener;
  bus.subscribe({.name = "t", .fn = Listener::hear, .context = &listener});
  CHECK_FALSE(bus.publish(plain(0)));
  CHECK_FALSE(bus.publish(plain(SMG_EVENT_TYPE_COUNT)));
  smg_event cut = plain(SMG_EVENT_WORKER_ADDED);
  cut.struct_size = 8;
  CHECK_FALSE(bus.publish(cut));
  bus.stop();
  CHECK_FALSE(bus.publish(plain(SMG_EVENT_WORKER_ADDED)));
  CHECK(listener.count() == 0);
}

TEST_CASE("a payload shorter than this side's is filled with zeros") {
  Bus bus(fixed_clock);
  std::uint64_t seen = 99;
  const auto hear = [](void* context, const smg_event* event) {
    *static_cast<std::uint64_t*>(context) =
        reinterpret_cast<const smg_event_change*>(event)->text.size;
  };
  bus.subscribe({.name = "t", .fn = hear, .context = &seen});
  smg_event_change change{};
  change.event = plain(SMG_EVENT_NO_REPORT);
  change.event.struct_size = sizeof(smg_event) + 8;
  change.text = view("beyond what the struct says");
  CHECK(bus.publish(change.event));
  bus.stop();
  CHECK(seen == 0);
}

TEST_CASE("a slow subscriber loses its own oldest events and nobody else's") {
  smg::Metrics metrics({});
  smg::Families families(metrics);
  Bus bus(fixed_clock, &families.bus_events_dropped);
  std::promise<void> open;
  Listener slow;
  slow.gated = true;
  slow.gate = open.get_future().share();
  Listener roomy;
  const auto id =
      bus.subscribe({.name = "slow", .fn = Listener::hear, .context = &slow, .capacity = 3});
  const auto other = bus.subscribe({.name = "roomy", .fn = Listener::hear, .context = &roomy});
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  slow.entered.get_future().wait();
  for (int i = 0; i < 10; ++i) bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  CHECK(bus.dropped(id) == 7);
  CHECK(bus.dropped(other) == 0);
  open.set_value();
  bus.stop();
  CHECK(slow.sequences == std::vector<std::uint64_t>{1, 9, 10, 11});
  CHECK(roomy.sequences.size() == 11);
  CHECK(families.bus_events_dropped.with({"slow"}).value() == 7);
  CHECK(families.bus_events_dropped.with({"roomy"}).value() == 0);
}

TEST_CASE("unsubscribe waits for the running call and none follows") {
  Bus bus(fixed_clock);
  std::promise<void> open;
  auto listener = std::make_unique<Listener>();
  listener->gated = true;
  listener->gate = open.get_future().share();
  const auto id = bus.subscribe({.name = "t", .fn = Listener::hear, .context = listener.get()});
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  listener->entered.get_future().wait();
  std::promise<void> returned;
  auto gone = returned.get_future();
  std::thread leaver([&] {
    bus.unsubscribe(id);
    returned.set_value();
  });
  CHECK(gone.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  open.set_value();
  gone.wait();
  leaver.join();
  CHECK(listener->count() == 1);
  listener.reset();  // a later call would be seen by the sanitizers
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  bus.unsubscribe(id);
  bus.stop();
}

TEST_CASE("a subscriber may leave, publish and subscribe from inside its call") {
  struct Guest {
    Bus* bus = nullptr;
    std::uint64_t id = 0;
    int calls = 0;
    Listener later;
  } guest;
  Bus bus(fixed_clock);
  guest.bus = &bus;
  std::latch ready(1);
  static std::latch* gate = nullptr;
  gate = &ready;
  guest.id = bus.subscribe(
      {.name = "guest",
       .fn =
           [](void* context, const smg_event*) {
             gate->wait();
             auto& self = *static_cast<Guest*>(context);
             ++self.calls;
             self.bus->unsubscribe(self.id);
             self.bus->subscribe({.name = "later", .fn = Listener::hear, .context = &self.later});
             self.bus->publish(plain(SMG_EVENT_WORKER_REMOVED));
           },
       .context = &guest});
  ready.count_down();
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  CHECK(eventually([&] { return guest.later.count() == 1; }));
  bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  bus.stop();
  CHECK(guest.calls == 1);
  CHECK(guest.later.types ==
        std::vector<std::uint32_t>{SMG_EVENT_WORKER_REMOVED, SMG_EVENT_WORKER_ADDED});
}

TEST_CASE("stopping delivers what is queued") {
  Listener listener;
  {
    Bus bus(fixed_clock);
    bus.subscribe({.name = "t", .fn = Listener::hear, .context = &listener});
    for (int i = 0; i < 500; ++i) bus.publish(plain(SMG_EVENT_WORKER_ADDED));
  }
  CHECK(listener.sequences.size() == 500);
}

TEST_CASE("many publishers, and subscribers that come and go") {
  Bus bus(fixed_clock);
  Listener steady;
  bus.subscribe({.name = "steady", .fn = Listener::hear, .context = &steady, .capacity = 100000});
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        bus.publish(plain(SMG_EVENT_WORKER_ADDED));
        if (n % 20 != 0) continue;
        auto passing = std::make_unique<Listener>();
        const auto id =
            bus.subscribe({.name = "passing", .fn = Listener::hear, .context = passing.get()});
        bus.publish(plain(SMG_EVENT_WORKER_UPDATED));
        bus.unsubscribe(id);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  bus.stop();
  REQUIRE(steady.sequences.size() == kThreads * (kEach + kEach / 20));
  for (std::size_t i = 0; i < steady.sequences.size(); ++i) CHECK(steady.sequences[i] == i + 1);
}
