// The C++ wrappers: what a class becomes at the ABI.
#include <doctest/doctest.h>

#include <string>

#include "fake_host.hpp"
#include "fake_pool.hpp"
#include "smg/cpp/monitor.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/transport.hpp"

using smg::test::FakeFleet;
using smg::test::FakeHost;

namespace {

struct Bare {
  std::optional<uint32_t> select(const smg::Request&, const smg::Pool&) { return std::nullopt; }
};

class Full {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT;
  explicit Full(smg::Host host) : index_(smg::Options(host).get_int("index")) {
    if (index_ < 0)
      throw smg::Error(SMG_E_INVALID, "index is " + std::to_string(index_) + ", must be 0 or more");
  }
  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool&) {
    if (request.text() == "throw") throw std::runtime_error("thrown");
    return static_cast<uint32_t>(index_);
  }
  void pool_changed(const smg_pool*, const smg_pool*) { throw 1; }
  void completed(const smg_worker&, bool) { throw std::runtime_error("not now"); }

 private:
  int64_t index_;
};

constexpr smg_option kOptions[] = {smg::int_option(
    "index", {.initial = "1", .help = "the answer", .minimum = 0, .maximum = 9, .flag = "index"})};
constexpr smg_plugin kBare = smg::policy<Bare>({.name = "bare", .version = "1", .summary = "s"});
constexpr smg_plugin kFull = smg::policy<Full>(
    {.name = "full", .version = "1", .summary = "s", .options = kOptions, .flags = 0});

struct Source {
  void poll(uint64_t, uint64_t, smg_poll_done) { throw std::runtime_error("no such route"); }
};
struct Monitor {
  uint32_t match(const smg_worker&) { throw std::runtime_error("unmatched"); }
  std::unique_ptr<Source> attach(const smg_worker&) { return std::make_unique<Source>(); }
};
struct Pusher {
  struct Silent {};
  uint32_t match(const smg_worker&) { return 100; }
  std::unique_ptr<Silent> attach(const smg_worker&) {
    throw smg::Error(SMG_E_LIMIT, "one worker at a time");
  }
};

struct Endpoint {
  void start(const smg_request&, uint64_t, uint64_t*) { throw std::runtime_error("cannot carry"); }
  void probe(const smg_probe&, smg_probe_done, void*) { throw std::runtime_error("no probe"); }
  void quiesce() {}
};
struct Transport {
  static constexpr smg_view kSchemes[] = {smg::view("demo"), smg::view("demos")};
  Transport(smg::Host, const smg_sink*) {}
  std::unique_ptr<Endpoint> open(const smg_worker&) { return std::make_unique<Endpoint>(); }
  void pause(uint64_t) {}
  void resume(uint64_t) {}
  void cancel(uint64_t) { throw std::runtime_error("cancel failed"); }
};

template <class Api>
const Api& api(const smg_plugin& plugin) {
  return *static_cast<const Api*>(plugin.api);
}

}  // namespace

TEST_CASE("a policy of one method leaves the optional functions out") {
  const auto& table = api<smg_policy_api>(kBare);
  CHECK(table.needs == 0);
  CHECK((table.pool_changed == nullptr));
  CHECK((table.dispatched == nullptr));
  CHECK((table.completed == nullptr));
  FakeHost host;
  FakeFleet fleet(1);
  void* self = nullptr;
  REQUIRE(table.create(host.raw(), &self, nullptr) == SMG_OK);
  smg_policy_request request{};
  uint32_t index = 5;
  CHECK(table.select(self, &request, fleet.pool()->raw(), &index) == SMG_NO_CHOICE);
  table.destroy(self);
}

TEST_CASE("options, needs and flags stand in the descriptor") {
  CHECK(kFull.option_count == 1);
  CHECK(smg::text(kFull.options[0].default_value) == "1");
  CHECK(kFull.options[0].maximum == 9);
  CHECK(smg::text(kFull.options[0].flag) == "index");
  CHECK(kFull.flags == 0);
  CHECK(kBare.flags == SMG_PLUGIN_UNLOADABLE);
  CHECK(api<smg_policy_api>(kFull).needs == SMG_NEEDS_TEXT);
  static constexpr smg_plugin plugins[] = {kBare, kFull};
  constexpr smg_library library = smg::library(plugins);
  CHECK(library.magic == SMG_PLUGIN_MAGIC);
  CHECK(library.plugin_count == 2);
  CHECK(library.plugin_stride == sizeof(smg_plugin));
}

TEST_CASE("what a constructor throws becomes a status and a text, cut to the room") {
  const auto& table = api<smg_policy_api>(kFull);
  FakeHost host;
  char room[64];
  smg_error error{room, sizeof room, 0};
  void* self = nullptr;
  CHECK(table.create(host.raw(), &self, &error) == SMG_E_INVALID);
  CHECK(std::string(room, error.size) == "option `index` must be set: it has no default");
  host.ints["index"] = -3;
  error.capacity = 11;
  CHECK(table.create(host.raw(), &self, &error) == SMG_E_INVALID);
  CHECK(std::string(room, error.size) == "index is -3");
  CHECK(table.create(host.raw(), &self, nullptr) == SMG_E_INVALID);
}

TEST_CASE("what a policy throws is logged, and a fault where it is thrown by select") {
  const auto& table = api<smg_policy_api>(kFull);
  FakeHost host;
  host.ints["index"] = 0;
  FakeFleet fleet(1);
  const auto pool = fleet.pool();
  void* self = nullptr;
  REQUIRE(table.create(host.raw(), &self, nullptr) == SMG_OK);
  smg_policy_request request{};
  uint32_t index = 5;
  CHECK(table.select(self, &request, pool->raw(), &index) == SMG_OK);
  CHECK(index == 0);
  request.text = smg::view("throw");
  CHECK(table.select(self, &request, pool->raw(), &index) == SMG_E_INTERNAL);
  table.completed(self, pool->raw()->workers[0], 1);
  table.pool_changed(self, nullptr, pool->raw());
  CHECK(host.log_lines() ==
        std::vector<std::string>{"thrown", "not now", "an exception that is no std::exception"});
  table.destroy(self);
}

TEST_CASE("a host without a service that is needed is refused by name") {
  smg_host nothing{};
  nothing.service = [](const smg_host*, const char*) -> const void* { return nullptr; };
  char room[128];
  smg_error error{room, sizeof room, 0};
  void* self = nullptr;
  CHECK(api<smg_policy_api>(kFull).create(&nothing, &self, &error) == SMG_E_UNSUPPORTED);
  CHECK(std::string(room, error.size).find("smg.options/0") != std::string::npos);
}

TEST_CASE("a monitor that throws from poll answers with the text") {
  constexpr smg_plugin plugin =
      smg::monitor<Monitor>({.name = "m", .version = "1", .summary = "s"});
  const auto& table = api<smg_monitor_api>(plugin);
  FakeHost host;
  FakeFleet fleet(1);
  const smg_worker* worker = fleet.pool()->raw()->workers[0];
  void* self = nullptr;
  void* source = nullptr;
  REQUIRE(table.create(host.raw(), &self, nullptr) == SMG_OK);
  CHECK(table.match(self, worker) == 0);
  REQUIRE(table.attach(self, worker, &source, nullptr) == SMG_OK);
  static std::string answer;
  table.poll(source, 9, 1,
             [](uint64_t ticket, const smg_load_report*, uint32_t cause, smg_view why) {
               answer = std::to_string(ticket) + " " + std::to_string(cause) + " " +
                        std::string(smg::text(why));
             });
  CHECK(answer == "9 4 no such route");
  table.detach(source);
  table.destroy(self);
}

TEST_CASE("a monitor whose source has no poll only pushes") {
  constexpr smg_plugin plugin = smg::monitor<Pusher>({.name = "p", .version = "1", .summary = "s"});
  const auto& table = api<smg_monitor_api>(plugin);
  CHECK((table.poll == nullptr));
  FakeHost host;
  FakeFleet fleet(1);
  void* self = nullptr;
  void* source = nullptr;
  REQUIRE(table.create(host.raw(), &self, nullptr) == SMG_OK);
  CHECK(table.attach(self, fleet.pool()->raw()->workers[0], &source, nullptr) == SMG_E_LIMIT);
  table.destroy(self);
}

TEST_CASE("a transport that throws from start ends the stream as refused, from probe is unwell") {
  constexpr smg_plugin plugin =
      smg::transport<Transport>({.name = "t", .version = "1", .summary = "s"});
  const auto& table = api<smg_transport_api>(plugin);
  CHECK(table.scheme_count == 2);
  CHECK(table.runtime_count == 0);
  FakeHost host;
  FakeFleet fleet(1);
  static std::string ended;
  smg_sink sink{};
  sink.end = [](uint64_t ticket, const smg_outcome* outcome) {
    ended = std::to_string(ticket) + " " + std::to_string(outcome->kind) + " " +
            std::string(smg::text(outcome->detail));
  };
  void* self = nullptr;
  void* endpoint = nullptr;
  REQUIRE(table.create(host.raw(), &sink, &self, nullptr) == SMG_OK);
  REQUIRE(table.open(self, fleet.pool()->raw()->workers[0], &endpoint, nullptr) == SMG_OK);
  smg_request request{};
  uint64_t stream = 0;
  table.start(endpoint, &request, 3, &stream);
  CHECK(ended == "3 6 cannot carry");
  std::string unwell;
  smg_probe probe{};
  probe.struct_size = sizeof probe;
  probe.what = SMG_PROBE_HEALTH;
  table.probe(
      endpoint, &probe,
      [](void* context, const smg_probe_result* result) {
        if (result->healthy == 0) {
          *static_cast<std::string*>(context) = smg::text(result->detail);
        }
      },
      &unwell);
  CHECK(unwell == "no probe");
  table.cancel(self, 1);
  CHECK(host.log_lines() == std::vector<std::string>{"cancel failed"});
  table.quiesce(endpoint);
  table.close(endpoint);
  table.destroy(self);
}
