// What the small policies hand over, and the C++ helpers for it.
#include "smg/cpp/handover.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "defaults.hpp"
#include "fake_policy.hpp"
#include "fake_pool.hpp"
#include "handover.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/sticky_map.hpp"

using namespace smg::test;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Written by `write`.
template <class Write>
std::string state_of(Write write) {
  StateKeeper keeper;
  smg::StateWriter writer(keeper.writer());
  write(writer);
  writer.flush();
  return std::move(keeper.bytes());
}

template <class Read>
std::string complaint(std::string_view state, Read read) {
  smg::StateReader reader(state);
  try {
    read(reader);
  } catch (const smg::Error& error) {
    CHECK(error.status() == SMG_E_INVALID);
    return error.what();
  }
  return "";
}

struct Forgetful {
  std::optional<uint32_t> select(const smg::Request&, const smg::Pool&) { return std::nullopt; }
};

struct Learned : Forgetful {
  static constexpr std::string_view kStateFormat = "learned/2";
  void export_state(smg::StateWriter& writer) const {
    if (text == "throw") throw std::runtime_error("not today");
    writer.text(text);
  }
  void import_state(std::string_view format, std::string_view state) {
    smg::require_format(format, kStateFormat);
    smg::StateReader reader(state);
    const std::string read(reader.text());
    reader.end();
    text = read;
  }
  std::string text = "what was learned";
};

constexpr smg_plugin kForgetful =
    smg::policy<Forgetful>({.name = "forgetful", .version = "1", .summary = "s"});
constexpr smg_plugin kLearned =
    smg::policy<Learned>({.name = "learned", .version = "1", .summary = "s"});

// A policy on two workers.
struct Bench {
  explicit Bench(const char* library, std::uint32_t workers = 3)
      : policy(library, prepare(library)), fleet(workers), pool(fleet.pool()) {
    policy.pool_changed(nullptr, pool->raw());
  }
  std::uint32_t choose(const std::string& key = {}) {
    smg_policy_request request{};
    request.now = host.time;
    request.random = next_random(random);
    request.routing_key = view_of(key);
    return policy.select(pool->raw(), request).value();
  }
  std::string state() { return export_state(policy.plugin(), policy.self()); }
  Outcome take(std::string_view state) {
    return import_state(policy.plugin(), policy.self(), state);
  }

  FakeHost host;
  LoadedPolicy policy;
  FakeFleet fleet;
  std::unique_ptr<FakePool> pool;
  std::uint64_t random = 1;

 private:
  FakeHost& prepare(const char* library) {
    host.time = 1000 * kSecond;
    set_defaults(host, library);
    return host;
  }
};

// Each beginning of the state, and the state with bits turned over. `fresh` makes who takes it.
template <class Fresh>
void torment(const std::string& state, Fresh fresh) {
  for (std::size_t size = 0; size < state.size(); ++size) {
    const auto bench = fresh();
    REQUIRE(bench->take(state.substr(0, size)).status == SMG_E_INVALID);
    bench->choose("key 1");
  }
  std::uint64_t random = 1;
  const auto bench = fresh();
  for (int i = 0; i < 2000; ++i) {
    std::string changed = state;
    changed[next_random(random) % state.size()] ^= static_cast<char>(1u << next_random(random) % 8);
    const smg_status status = bench->take(changed).status;
    REQUIRE((status == SMG_OK || status == SMG_E_INVALID));
    bench->choose("key 1");
  }
}

}  // namespace

TEST_CASE("numbers, words and texts are read as they were written") {
  const std::vector<std::uint64_t> numbers{0, 1, 127, 128, 16383, 16384, 1ull << 35, ~0ull};
  const std::string large(200'000, 'x');
  const std::string state = state_of([&](smg::StateWriter& writer) {
    for (const std::uint64_t number : numbers) writer.number(number);
    writer.word(0x0102030405060708);
    writer.text("");
    writer.text(large);
    writer.text("end");
  });
  smg::StateReader reader(state);
  for (const std::uint64_t number : numbers) CHECK(reader.number() == number);
  CHECK(reader.word() == 0x0102030405060708);
  CHECK(reader.text().empty());
  CHECK(reader.text() == large);
  CHECK(reader.text() == "end");
  reader.end();
  CHECK(state.size() == 1 + 1 + 1 + 2 + 2 + 3 + 6 + 10 + 8 + 1 + 3 + large.size() + 4);
}

TEST_CASE("a reader says where a state is damaged") {
  using Reader = smg::StateReader;
  CHECK(complaint("", [](Reader& r) { r.number(); }) ==
        "the state is damaged at byte 0: it ends 1 bytes too early");
  CHECK(complaint("\x05xy", [](Reader& r) { r.text(); }) ==
        "the state is damaged at byte 1: it ends 3 bytes too early");
  CHECK(complaint("1234567", [](Reader& r) { r.word(); }) ==
        "the state is damaged at byte 0: it ends 1 bytes too early");
  CHECK(complaint("\x01\x09", [](Reader& r) {
          r.number();
          r.number(8);
        }) == "the state is damaged at byte 1: 9 stands where at most 8 is possible");
  CHECK(complaint(std::string(11, '\xff'), [](Reader& r) { r.number(); }) ==
        "the state is damaged at byte 0: a number has more than 64 bits");
  CHECK(complaint("\x04"
                  "1234567",
                  [](Reader& r) { r.count(2); }) ==
        "the state is damaged at byte 0: 4 entries cannot stand in the 7 bytes that follow");
  CHECK(complaint("12", [](Reader& r) {
          r.number();
          r.end();
        }) == "the state is damaged at byte 1: 1 bytes too many");
  // A size near 2^64 overflows nothing.
  CHECK(complaint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                  "abc",
                  [](Reader& r) { r.text(); })
            .find("too early") != std::string::npos);
}

TEST_CASE("only a policy with a state format offers a hand-over") {
  CHECK((handover_of(kForgetful) == nullptr));
  REQUIRE((handover_of(kLearned) != nullptr));
  CHECK((kLearned.extension("smg.something-else/1") == nullptr));
  CHECK(handover_of(kLearned)->struct_size == sizeof(smg_state_handover));
  CHECK(smg::text(handover_of(kLearned)->format) == "learned/2");
}

TEST_CASE("what a hand-over throws becomes a status and a text") {
  const auto& api = *static_cast<const smg_policy_api*>(kLearned.api);
  FakeHost host;
  void* self = nullptr;
  REQUIRE(api.create(host.raw(), &self, nullptr) == SMG_OK);
  auto& learned = *static_cast<smg::detail::Instance<Learned>*>(self)->object;
  const std::string state = export_state(kLearned, self);
  learned.text = "something else";
  const Outcome unknown = import_state(kLearned, self, "learned/1", state);
  CHECK(unknown.status == SMG_E_UNSUPPORTED);
  CHECK(unknown.error == "the state is in the format `learned/1`, this version reads `learned/2`");
  CHECK(import_state(kLearned, self, state.substr(1)).status == SMG_E_INVALID);
  CHECK(learned.text == "something else");
  CHECK(import_state(kLearned, self, state).status == SMG_OK);
  CHECK(learned.text == "what was learned");

  char room[128];
  smg_error error{room, sizeof room, 0};
  StateKeeper small(4);
  CHECK(handover_of(kLearned)->export_state(self, &small.writer(), &error) == SMG_E_LIMIT);
  CHECK(std::string(room, error.size) == "the state is larger than the gateway keeps");
  learned.text = "throw";
  CHECK(handover_of(kLearned)->export_state(self, &small.writer(), &error) == SMG_E_INTERNAL);
  CHECK(std::string(room, error.size) == "not today");
  api.destroy(self);
}

TEST_CASE("round_robin goes on where the one before it was, for each set of workers") {
  Bench before(SMG_ROUND_ROBIN, 3), after(SMG_ROUND_ROBIN, 3);
  const auto two = [](Bench& bench) {
    bench.fleet.down(1);
    const std::uint32_t choice = bench.choose();
    bench.fleet.up(1);
    return choice;
  };
  for (int i = 0; i < 4; ++i) before.choose();  // 0 1 2 0
  for (int i = 0; i < 2; ++i) two(before);      // 2 0
  REQUIRE(after.take(before.state()).status == SMG_OK);
  for (int i = 0; i < 6; ++i) {
    CHECK(after.choose() == before.choose());
    CHECK(two(after) == two(before));
  }
  // The start of a set that is new to both.
  for (Bench* bench : {&before, &after}) bench->fleet.down(0);
  CHECK(after.choose() == before.choose());
}

TEST_CASE("round_robin refuses what no round_robin wrote and goes on from its start") {
  Bench before(SMG_ROUND_ROBIN);
  for (int i = 0; i < 4; ++i) before.choose();
  Bench after(SMG_ROUND_ROBIN);
  CHECK(
      import_state(after.policy.plugin(), after.policy.self(), "manual/1", before.state()).status ==
      SMG_E_UNSUPPORTED);
  CHECK(after.take(before.state() + "x").status == SMG_E_INVALID);
  CHECK(after.choose() == 0);
  torment(before.state(), [] { return std::make_unique<Bench>(SMG_ROUND_ROBIN); });
}

TEST_CASE("manual keeps its keys with their workers, also with those that are away") {
  Bench before(SMG_MANUAL, 4);
  std::vector<std::uint32_t> home;
  for (int i = 0; i < 300; ++i) home.push_back(before.choose("key " + std::to_string(i)));
  Bench after(SMG_MANUAL, 4);
  after.fleet.down(2);
  REQUIRE(after.take(before.state()).status == SMG_OK);
  CHECK(after.host.metric("smg_manual_policy_cache_entries") == 300);
  for (int i = 0; i < 300; ++i) {
    const auto number = static_cast<std::size_t>(i);
    if (home[number] == 2) continue;
    CHECK(after.choose("key " + std::to_string(i)) == home[number]);
  }
  after.fleet.up(2);
  for (int i = 0; i < 300; ++i) {
    CHECK(after.choose("key " + std::to_string(i)) == home[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("manual refuses what no manual wrote and assigns keys anew") {
  Bench before(SMG_MANUAL);
  for (int i = 0; i < 10; ++i) before.choose("key " + std::to_string(i));
  Bench after(SMG_MANUAL);
  CHECK(
      import_state(after.policy.plugin(), after.policy.self(), "manual/0", before.state()).status ==
      SMG_E_UNSUPPORTED);
  CHECK(after.take(before.state().substr(0, 100)).status == SMG_E_INVALID);
  CHECK(after.host.metric("smg_manual_policy_cache_entries") == 0);
  const std::uint32_t home = after.choose("key 1");
  for (int i = 0; i < 20; ++i) CHECK(after.choose("key 1") == home);
  torment(before.state(), [] { return std::make_unique<Bench>(SMG_MANUAL); });
}

TEST_CASE("a sticky map keeps what was used last, and when, over a hand-over") {
  smg::StickyMap before;
  const auto key = [](const std::string& name) {
    return smg::StickyKey{"m", SMG_LEG_DECODE, name};
  };
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("key " + std::to_string(i * 7919 % 1000));
  for (std::size_t i = 0; i < names.size(); ++i) {
    before.update(key(names[i]), 1000 + i, [&](smg::Pins& pins) {
      pins.append("http://a");
      if (i % 2 == 0) pins.append("http://b");
    });
  }
  const std::string state =
      state_of([&](smg::StateWriter& writer) { before.export_state(writer, 2000); });
  smg::StickyMap after(100, 1);
  smg::StateReader reader(state);
  after.import_state(reader, 2000);
  CHECK(after.size() == 100);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t pins = 0;
    const bool kept =
        after.visit(key(names[i]), 0, [&](const smg::Pins& found) { pins = found.size(); });
    CHECK(kept == (i >= 900));
    if (kept) CHECK(pins == (i % 2 == 0 ? 2 : 1));
  }
  // Keys 900 to 949 were used at 1900 to 1949.
  CHECK(after.evict_idle(2000, 51, 1000) == 50);
}

TEST_CASE("a sticky map is written while others use it") {
  smg::StickyMap map(4096, 8);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t random = thread;
      for (std::uint64_t now = 0; !stop; ++now) {
        const std::string name = std::to_string(next_random(random) % 10'000);
        map.update({"m", 0, name}, now,
                   [&](smg::Pins& pins) { pins.push_front("http://" + name); });
        if (now % 1000 == 999) map.evict_idle(now, 900, 64);
      }
    });
  }
  while (map.size() < 2000) std::this_thread::yield();
  bool right = true;
  for (int i = 0; i < 20; ++i) {
    const std::string state =
        state_of([&](smg::StateWriter& writer) { map.export_state(writer, 1'000'000); });
    smg::StickyMap after(100'000, 1);
    smg::StateReader reader(state);
    after.import_state(reader, 1'000'000);
    right = right && after.size() > 0;
    for (int name = 0; name < 10'000; ++name) {
      const std::string text = std::to_string(name);
      after.visit({"m", 0, text}, 0, [&](const smg::Pins& pins) {
        right = right && pins.size() == 1 && pins[0] == "http://" + text;
      });
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(right);
}
