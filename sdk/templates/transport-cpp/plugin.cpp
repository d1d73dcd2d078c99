// my_plugin: a transport for engines that take one request per TCP connection. The gateway sends a
// line `METHOD PATH SIZE` and SIZE bytes of body; the bytes that come back, until the engine
// closes, are the answer. Workers are `my-plugin://host:port`. engine.py is such an engine.
//
// Each request lives on the loop that began it, and dies there: nothing is shared, nothing is
// locked.
#include <memory>
#include <unordered_map>
#include <utility>

#include "connection.hpp"
#include "smg/cpp/transport.hpp"

namespace plugin {
namespace {

class Exchange;

// The requests of one loop, by the number that the host calls them.
struct alignas(64) OfLoop {
  std::unordered_map<uint64_t, std::unique_ptr<Exchange>> exchanges;
  uint64_t last = 0;
};

struct Shared {
  Shared(smg::Host host, const smg_sink& to)
      : services(host), sink(to), loops(services.loop.count()) {}
  OfLoop& here() { return loops[services.loop.current()]; }
  Exchange* find(uint64_t stream) {
    const auto found = here().exchanges.find(stream);
    return found == here().exchanges.end() ? nullptr : found->second.get();
  }

  Services services;
  const smg_sink& sink;
  std::vector<OfLoop> loops;
};

// One request and its answer. A sink call may come back with cancel(), which deletes this: after
// each, whether it is still there is looked up.
class Exchange final : public Connection::User {
 public:
  Exchange(Shared& shared, const smg_worker& worker, const smg_request& request, uint64_t ticket,
           uint64_t stream)
      : shared_(shared),
        worker_(worker.ref),
        ticket_(ticket),
        stream_(stream),
        streaming_((request.flags & SMG_REQUEST_STREAM) != 0) {
    if (streaming_) shared_.services.fleet.tracked_load(worker_, 1);
    if (request.deadline != 0) shared_.services.loop.set(deadline_, request.deadline);
    connection_ = Connection::open(shared_.services, *this, smg::text(worker.host),
                                   static_cast<uint16_t>(worker.port));
    std::string bytes(smg::text(request.method));
    bytes.append(" ").append(smg::text(worker.base_path)).append(smg::text(request.path));
    bytes.append(" ").append(std::to_string(request.body_size)).append("\n");
    for (uint32_t i = 0; i < request.body_count; ++i) bytes.append(smg::text(request.body[i]));
    connection_->send(bytes);
  }
  ~Exchange() {
    if (connection_ != nullptr) connection_->close();  // the engine notices at once
    shared_.services.loop.clear(deadline_);
    if (streaming_) shared_.services.fleet.tracked_load(worker_, -1);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void pause() { connection_->pause(); }
  void resume() { connection_->resume(); }

 private:
  void received(std::string_view bytes) override {
    Shared& shared = shared_;
    const uint64_t ticket = ticket_;
    const uint64_t stream = stream_;
    shared.services.fleet.progress(worker_, 0);
    if (phase_ != SMG_PHASE_DATA) {
      phase_ = SMG_PHASE_DATA;
      const smg_header type{smg::view("content-type"),
                            smg::view(streaming_ ? "text/event-stream" : "application/json")};
      smg_response_head head{};
      head.struct_size = sizeof head;
      head.status = 200;
      head.headers = &type;
      head.header_count = 1;
      head.content_length = -1;
      const bool pause = shared.sink.head(ticket, &head) == SMG_PAUSE;
      if (shared.find(stream) == nullptr) return;
      if (pause) connection_->pause();
    }
    const bool pause = shared.sink.data(ticket, bytes.data(), bytes.size()) == SMG_PAUSE;
    if (pause && shared.find(stream) != nullptr) connection_->pause();
  }

  void closed(uint32_t reason, std::string_view detail) override {
    const bool sent = connection_->any_sent();
    connection_ = nullptr;
    if (sent && phase_ == SMG_PHASE_CONNECT) phase_ = SMG_PHASE_SENT;
    if (reason != SMG_END_COMPLETE) {
      shared_.services.fleet.connection_failed(worker_, "my_plugin", detail);
    } else if (phase_ != SMG_PHASE_DATA) {
      reason = SMG_END_CONNECTION_LOST;
      detail = "the engine closed without an answer";
    }
    end(reason, detail);
  }

  void late() noexcept { end(SMG_END_TIMEOUT, "the answer was not complete in time"); }

  void end(uint32_t reason, std::string_view detail) {
    smg_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.kind = reason;
    outcome.phase = phase_;
    outcome.detail = smg::view(reason == SMG_END_COMPLETE ? std::string_view() : detail);
    Shared& shared = shared_;
    const uint64_t ticket = ticket_;
    shared.here().exchanges.erase(stream_);
    shared.sink.end(ticket, &outcome);
  }

  Shared& shared_;
  const uint64_t worker_;
  const uint64_t ticket_;
  const uint64_t stream_;
  const bool streaming_;
  uint32_t phase_ = SMG_PHASE_CONNECT;
  Connection* connection_ = nullptr;
  smg::Timer<&Exchange::late> deadline_{*this};
};

// Whether an engine answers `GET /health 0` with anything, in time. On the control loop.
class Probe final : public Connection::User {
 public:
  Probe(Shared& shared, const smg_worker& worker, const smg_probe& probe, smg_probe_done done,
        void* context)
      : shared_(shared), done_(done), context_(context) {
    shared_.services.loop.set(timeout_, shared_.services.clock.now() + probe.timeout_ns);
    connection_ = Connection::open(shared_.services, *this, smg::text(worker.host),
                                   static_cast<uint16_t>(worker.port));
    connection_->send("GET /health 0\n");
  }
  ~Probe() {
    if (connection_ != nullptr) connection_->close();
    shared_.services.loop.clear(timeout_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  bool is_over() const { return done_ == nullptr; }
  void answer(bool healthy, std::string_view detail) {
    if (is_over()) return;
    if (connection_ != nullptr) std::exchange(connection_, nullptr)->close();
    smg_probe_result result{};
    result.struct_size = sizeof result;
    result.healthy = healthy ? 1 : 0;
    result.detail = smg::view(detail);
    std::exchange(done_, nullptr)(context_, &result);
  }

 private:
  void received(std::string_view) override { answer(true, {}); }
  void closed(uint32_t, std::string_view detail) override {
    connection_ = nullptr;
    answer(false, detail);
  }
  void late() noexcept { answer(false, "no answer in time"); }

  Shared& shared_;
  smg_probe_done done_;  // nullptr: answered
  void* const context_;
  Connection* connection_ = nullptr;
  smg::Timer<&Probe::late> timeout_{*this};
};

class Endpoint {
 public:
  Endpoint(Shared& shared, const smg_worker& worker) : shared_(shared), worker_(worker) {
    if (worker.host.size == 0 || worker.port == 0 || worker.port > 65535) {
      throw smg::Error(SMG_E_INVALID, "worker " + std::string(smg::text(worker.url)) +
                                          ": write the port, as in my-plugin://host:7070");
    }
  }

  void start(const smg_request& request, uint64_t ticket, uint64_t* stream) {
    OfLoop& here = shared_.here();
    *stream = ++here.last;
    here.exchanges[*stream] =
        std::make_unique<Exchange>(shared_, worker_, request, ticket, *stream);
  }

  void probe(const smg_probe& probe, smg_probe_done done, void* context) {
    std::erase_if(probes_, [](const auto& old) { return old->is_over(); });
    probes_.push_back(std::make_unique<Probe>(shared_, worker_, probe, done, context));
  }

  // Once on every loop, after its last stream. Only the control loop, the last one, has probes.
  void quiesce() {
    if (shared_.services.loop.current() + 1 != shared_.services.loop.count()) return;
    for (const auto& probe : probes_) probe->answer(false, "the worker is being removed");
    probes_.clear();
  }

 private:
  Shared& shared_;
  const smg_worker& worker_;
  std::vector<std::unique_ptr<Probe>> probes_;
};

class Transport {
 public:
  static constexpr smg_view kSchemes[] = {smg::view("my-plugin")};

  Transport(smg::Host host, const smg_sink* sink) : shared_(host, *sink) {}

  std::unique_ptr<Endpoint> open(const smg_worker& worker) {
    return std::make_unique<Endpoint>(shared_, worker);
  }
  void pause(uint64_t stream) {
    if (Exchange* const exchange = shared_.find(stream)) exchange->pause();
  }
  void resume(uint64_t stream) {
    if (Exchange* const exchange = shared_.find(stream)) exchange->resume();
  }
  void cancel(uint64_t stream) { shared_.here().exchanges.erase(stream); }

 private:
  Shared shared_;
};

}  // namespace
}  // namespace plugin

SMG_EXPORT_PLUGINS(smg::transport<plugin::Transport>(
    {.name = "my_plugin",
     .version = "1.0",
     .vendor = "me",
     .summary = "one request per TCP connection: a line, the body, the answer until it closes"}));
