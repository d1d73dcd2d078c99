#include "host/fleet/stream_table.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

using namespace smg;

namespace {

struct Stream final : StreamEvents {
  explicit Stream(StreamTable& in) : table(in) {}
  std::int32_t on_head(const smg_response_head&) override {
    ++heads;
    return SMG_CONTINUE;
  }
  std::int32_t on_data(std::string_view data) override {
    bytes += data.size();
    return SMG_CONTINUE;
  }
  void on_end(const smg_outcome& outcome) override {
    table.erase(ticket);
    ++ends;
    kind = outcome.kind;
    phase = outcome.phase;
    detail = text(outcome.detail);
  }
  void on_release() override { ++releases; }

  StreamTable& table;
  std::uint64_t ticket = 0;
  int heads = 0, ends = 0, releases = 0;
  std::size_t bytes = 0;
  std::uint32_t kind = 99, phase = 99;
  std::string detail;
};

// A transport that does what the test says.
struct Bench : test::Fixture {
  Bench() : faults_of(services, "transport.unruly") {
    api.start = [](void* self, const smg_request*, std::uint64_t ticket, std::uint64_t* number) {
      static_cast<Bench*>(self)->start(ticket, *number);
    };
    api.resume = [](void* self, std::uint64_t number) {
      static_cast<Bench*>(self)->resume(number);
    };
    api.cancel = [](void* self, std::uint64_t number) {
      static_cast<Bench*>(self)->cancel(number);
    };
    transport->api = &api;
    transport->self = this;
    transport->faults = &faults_of;
    begin();
  }
  void begin() {
    stream.emplace(table);
    stream->ticket = table.insert(&*stream, endpoint);
    table.start(stream->ticket, {});
  }
  void good_head() {
    const smg_response_head head{sizeof head, 200, nullptr, 0, 0, -1};
    CHECK(sink.head(stream->ticket, &head) == SMG_CONTINUE);
  }
  void good_end() {
    const smg_outcome outcome{sizeof outcome, SMG_END_COMPLETE, SMG_PHASE_DATA, 0, {}};
    sink.end(stream->ticket, &outcome);
  }
  // The stream ended as the transport's failure, was cancelled there, and one more was counted.
  void check_refused(const char* why) {
    INFO(why);
    CHECK(stream->ends == 1);
    CHECK(stream->kind == SMG_END_BAD_RESPONSE);
    CHECK(stream->detail.find(why) != std::string::npos);
    CHECK(cancelled == 7);
    CHECK(faults("unruly", Fault::bad_call) == ++refused);
    good_end();
    CHECK(stream->ends == 1);
    cancelled = 0;
  }

  FaultMeter faults_of;
  smg_transport_api api{};
  std::shared_ptr<TransportRef> transport = std::make_shared<TransportRef>();
  Endpoint endpoint{transport, nullptr, nullptr, this};
  StreamTable table{1};
  const smg_sink& sink = StreamTable::sink();
  std::optional<Stream> stream;
  std::function<void(std::uint64_t, std::uint64_t&)> start =
      [](std::uint64_t, std::uint64_t& number) { number = 7; };
  std::function<void(std::uint64_t)> resume = [](std::uint64_t) {};
  std::uint64_t cancelled = 0;
  std::function<void(std::uint64_t)> cancel = [this](std::uint64_t number) { cancelled = number; };
  double refused = 0;
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "a second end, or anything after it, finds no stream") {
  good_head();
  good_end();
  good_end();
  good_head();
  sink.data(stream->ticket, "x", 1);
  sink.release(stream->ticket);
  CHECK(stream->ends == 1);
  CHECK(stream->heads == 1);
  CHECK(faults("unruly", Fault::late_call) == 4);
}

TEST_CASE_FIXTURE(Bench, "completion after cancel finds no stream, and not the next one either") {
  const std::uint64_t first = stream->ticket;
  table.cancel(first);
  CHECK(cancelled == 7);
  begin();
  const smg_outcome outcome{sizeof outcome, SMG_END_COMPLETE, SMG_PHASE_DATA, 0, {}};
  sink.end(first, &outcome);
  CHECK(stream->ends == 0);
  CHECK(faults("unruly", Fault::late_call) == 1);
}

TEST_CASE_FIXTURE(Bench, "a call on a thread without streams hits nothing and is counted") {
  std::thread([&] {
    sink.data(stream->ticket, "x", 1);
    good_end();
  }).join();
  CHECK(stream->ends == 0);
  CHECK(stream->bytes == 0);
  CHECK(faults("unruly", Fault::wrong_thread) == 2);
  good_head();
  good_end();
  CHECK(stream->ends == 1);
}

TEST_CASE_FIXTURE(Bench, "a call on another loop's thread never hits a stream of that loop") {
  std::thread([&] {
    StreamTable other(2);
    Stream bystander(other);
    bystander.ticket = other.insert(&bystander, endpoint);
    CHECK(bystander.ticket != stream->ticket);
    const smg_response_head head{sizeof head, 200, nullptr, 0, 0, -1};
    CHECK(sink.head(stream->ticket, &head) == SMG_CONTINUE);
    good_end();
    CHECK(bystander.heads + bystander.ends == 0);
    other.erase(bystander.ticket);
  }).join();
  CHECK(stream->heads + stream->ends == 0);
  CHECK(faults("unruly", Fault::wrong_thread) == 2);
}

TEST_CASE_FIXTURE(Bench, "a foreign thread that calls without end disturbs no stream") {
  std::atomic<bool> stop{false};
  const std::uint64_t ticket = stream->ticket;
  std::thread foreign([&] {
    while (!stop) {
      sink.data(ticket, "x", 1);
      sink.release(ticket);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    good_head();
    CHECK(sink.data(stream->ticket, "abc", 3) == SMG_CONTINUE);
    good_end();
    CHECK(stream->bytes == 3);
    begin();
  }
  while (faults("unruly", Fault::wrong_thread) < 2) std::this_thread::yield();
  stop = true;
  foreign.join();
  CHECK(stream->ends == 0);
}

TEST_CASE_FIXTURE(Bench, "heads that cannot be end the stream as a bad response") {
  sink.head(stream->ticket, nullptr);
  check_refused("no head");
  const smg_header nowhere{{nullptr, 5}, {"v", 1}};
  const smg_header endless{{"n", 1}, {"v", ~0ull}};
  const smg_header fine{{"n", 1}, {"v", 1}};
  const auto refuses = [&](const smg_response_head& head, const char* why) {
    begin();
    CHECK(sink.head(stream->ticket, &head) == SMG_PAUSE);
    CHECK(stream->heads == 0);
    check_refused(why);
  };
  refuses({8, 200, nullptr, 0, 0, -1}, "struct_size");
  for (const std::uint32_t status : {0u, 99u, 101u, 199u, 600u, ~0u}) {
    refuses({sizeof(smg_response_head), status, nullptr, 0, 0, -1}, "status");
  }
  refuses({sizeof(smg_response_head), 200, nullptr, 3, 0, -1}, "headers");
  refuses({sizeof(smg_response_head), 200, &fine, ~0u, 0, -1}, "headers");
  refuses({sizeof(smg_response_head), 200, &nowhere, 1, 0, -1}, "headers");
  refuses({sizeof(smg_response_head), 200, &endless, 1, 0, -1}, "headers");
  refuses({sizeof(smg_response_head), 200, nullptr, 0, 0, -7}, "content_length");
  begin();
  good_head();
  const smg_response_head head{sizeof head, 200, &fine, 1, 0, -1};
  sink.head(stream->ticket, &head);
  CHECK(stream->heads == 1);
  CHECK(stream->phase == SMG_PHASE_HEAD);
  check_refused("twice");
}

TEST_CASE_FIXTURE(Bench, "bytes that cannot be end the stream as a bad response") {
  CHECK(sink.data(stream->ticket, "x", 1) == SMG_PAUSE);
  check_refused("before sink.head");
  begin();
  good_head();
  CHECK(sink.data(stream->ticket, nullptr, 1) == SMG_PAUSE);
  check_refused("bytes");
  begin();
  good_head();
  CHECK(sink.data(stream->ticket, "x", ~0ull) == SMG_PAUSE);
  check_refused("bytes");
  begin();
  good_head();
  CHECK(sink.data(stream->ticket, nullptr, 0) == SMG_CONTINUE);
  CHECK(stream->ends == 0);
}

TEST_CASE_FIXTURE(Bench, "outcomes that cannot be end the stream as a bad response") {
  sink.end(stream->ticket, nullptr);
  check_refused("no outcome");
  const auto refuses = [&](const smg_outcome& outcome, const char* why) {
    begin();
    good_head();
    sink.end(stream->ticket, &outcome);
    check_refused(why);
  };
  refuses({4, SMG_END_COMPLETE, SMG_PHASE_DATA, 0, {}}, "struct_size");
  refuses({sizeof(smg_outcome), 99, SMG_PHASE_DATA, 0, {}}, "kind");
  refuses({sizeof(smg_outcome), SMG_END_COMPLETE, 99, 0, {}}, "phase");
  refuses({sizeof(smg_outcome), SMG_END_TIMEOUT, SMG_PHASE_DATA, 0, {nullptr, 9}}, "detail");
  refuses({sizeof(smg_outcome), SMG_END_TIMEOUT, SMG_PHASE_DATA, 0, {"x", ~0ull}}, "detail");
  begin();
  const smg_outcome complete{sizeof complete, SMG_END_COMPLETE, SMG_PHASE_SENT, 0, {}};
  sink.end(stream->ticket, &complete);
  check_refused("without a head");
}

TEST_CASE_FIXTURE(Bench, "a second release ends the stream") {
  sink.release(stream->ticket);
  CHECK(stream->releases == 1);
  sink.release(stream->ticket);
  CHECK(stream->releases == 1);
  check_refused("sink.release");
}

TEST_CASE_FIXTURE(Bench, "a start that throws ends the stream, once") {
  start = [](std::uint64_t, std::uint64_t& number) {
    number = 7;
    throw std::runtime_error("no engine");
  };
  begin();
  CHECK(stream->ends == 1);
  CHECK(stream->kind == SMG_END_BAD_RESPONSE);
  CHECK(cancelled == 7);
  CHECK(faults("unruly", Fault::exception) == 1);
  start = [&](std::uint64_t ticket, std::uint64_t&) {
    const smg_outcome outcome{sizeof outcome, SMG_END_CONNECT_FAILED, SMG_PHASE_CONNECT, 0, {}};
    sink.end(ticket, &outcome);
    throw 1;
  };
  stream.emplace(table);
  stream->ticket = table.insert(&*stream, endpoint);
  table.start(stream->ticket, {});
  CHECK(stream->ends == 1);
  CHECK(stream->kind == SMG_END_CONNECT_FAILED);
  CHECK(faults("unruly", Fault::exception) == 2);
}

TEST_CASE_FIXTURE(Bench, "what resume and cancel throw ends there") {
  resume = [](std::uint64_t) { throw 1; };
  cancel = [](std::uint64_t) { throw 2; };
  table.resume(stream->ticket);
  CHECK(stream->ends == 1);
  CHECK(stream->kind == SMG_END_BAD_RESPONSE);
  CHECK(faults("unruly", Fault::exception) == 2);
  begin();
  table.cancel(stream->ticket);
  CHECK(stream->ends == 0);
  CHECK(table.find(stream->ticket) == nullptr);
  CHECK(faults("unruly", Fault::exception) == 3);
}

TEST_CASE_FIXTURE(Bench, "a number that is set after the end goes to no other stream") {
  std::optional<Stream> next;
  start = [&](std::uint64_t ticket, std::uint64_t& number) {
    if (next) {
      number = 8;
      return;
    }
    const smg_outcome outcome{sizeof outcome, SMG_END_CONNECT_FAILED, SMG_PHASE_CONNECT, 0, {}};
    sink.end(ticket, &outcome);
    next.emplace(table);
    next->ticket = table.insert(&*next, endpoint);
    table.start(next->ticket, {});
    number = 9;
  };
  begin();
  table.cancel(next->ticket);
  CHECK(cancelled == 8);
}
