#include "transport.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

namespace broken {
namespace {

#ifndef FAULT
#define FAULT none
#endif
enum class Fault {
  none,
  stream_order,
  stream_failures,
  deadline,
  probe,
  wrong_thread,
  load_notes,
  cancel_before_head,
  cancel_inside_head,
  cancel_inside_data,
  cancel_inside_end,
  cancel_between,
  cancel_after_end,
  cancel_twice,
  cancel_paused,
  cancel_storm,
  pause,
  pause_storm
};
constexpr Fault kFault = Fault::FAULT;
constexpr std::uint64_t kSecond = 1'000'000'000;

class ToSink : public Listener {
 public:
  ToSink(Transport& transport, std::uint64_t worker, std::uint64_t ticket)
      : transport_(transport), worker_(worker), ticket_(ticket) {
    transport_.fleet().tracked_load(worker_, 1);
  }
  ~ToSink() override {
    if constexpr (kFault != Fault::load_notes) transport_.fleet().tracked_load(worker_, -1);
  }
  std::int32_t head(const smg::http1::ResponseHead& head) override {
    std::vector<smg_header> headers;
    for (const auto& field : head.fields) {
      headers.push_back({smg::view(field.name), smg::view(field.value)});
    }
    smg_response_head out{};
    out.struct_size = sizeof out;
    out.status = head.status;
    out.headers = headers.data();
    out.header_count = static_cast<std::uint32_t>(headers.size());
    out.content_length = head.content_length;
    if constexpr (kFault == Fault::stream_order) transport_.sink().data(ticket_, "early", 5);
    return transport_.sink().head(ticket_, &out);
  }
  std::int32_t data(std::string_view bytes) override {
    return transport_.sink().data(ticket_, bytes.data(), bytes.size());
  }
  void end(std::uint32_t kind, std::uint32_t phase, std::string_view detail) override {
    smg_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.kind = kind;
    outcome.phase = phase;
    outcome.detail = smg::view(detail);
    transport_.sink().end(ticket_, &outcome);
  }

 private:
  Transport& transport_;
  std::uint64_t worker_;
  std::uint64_t ticket_;
};

class ToProbe : public Listener {
 public:
  ToProbe(smg_probe_done done, void* context) : done_(done), context_(context) {}
  std::int32_t head(const smg::http1::ResponseHead& head) override {
    status_ = head.status;
    return SMG_CONTINUE;
  }
  std::int32_t data(std::string_view /*bytes*/) override { return SMG_CONTINUE; }
  void end(std::uint32_t kind, std::uint32_t /*phase*/, std::string_view detail) override {
    smg_probe_result result{};
    result.struct_size = sizeof result;
    result.healthy = kind == SMG_END_COMPLETE && status_ == 200 ? 1 : 0;
    result.detail = smg::view(detail.empty() ? std::string_view("the engine says so") : detail);
    if (kFault == Fault::probe && result.healthy == 0) return;
    done_(context_, &result);
  }

 private:
  smg_probe_done done_;
  void* context_;
  unsigned status_ = 0;
};

void nothing(smg_timer* /*timer*/) {}

std::string render(const smg_request& request, const smg_worker& worker) {
  std::string bytes(smg::text(request.method));
  bytes.append(" ").append(smg::text(request.path)).append(" HTTP/1.1\r\nHost: ");
  bytes.append(smg::text(worker.host)).append("\r\nConnection: close\r\nContent-Length: ");
  bytes.append(std::to_string(request.body_size)).append("\r\n");
  for (std::uint32_t i = 0; i < request.header_count; ++i) {
    bytes.append(smg::text(request.headers[i].name)).append(": ");
    bytes.append(smg::text(request.headers[i].value)).append("\r\n");
  }
  bytes.append("\r\n");
  for (std::uint32_t i = 0; i < request.body_count; ++i) bytes.append(smg::text(request.body[i]));
  return bytes;
}

}  // namespace

Exchange::Exchange(Transport& transport, std::uint64_t number, std::unique_ptr<Listener> listener)
    : transport_(transport), number_(number), listener_(std::move(listener)) {}

Exchange::~Exchange() {
  if (watch_.fd >= 0) close(watch_.fd);
}

void Exchange::begin(const smg_worker& worker, std::string bytes, std::uint64_t deadline) {
  out_ = std::move(bytes);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(worker.port));
  inet_pton(AF_INET, std::string(smg::text(worker.host)).c_str(), &to.sin_addr);
  watch_.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int made = connect(watch_.fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  if (made != 0 && errno != EINPROGRESS) return finish(SMG_END_CONNECT_FAILED, "refused");
  transport_.loop().watch(watch_);
  if (deadline != 0 && kFault != Fault::deadline) transport_.loop().set(timer_, deadline);
}

void Exchange::pause() {
  if constexpr (kFault == Fault::pause) return;
  ++pauses_;
  paused_ = true;
}

void Exchange::resume() {
  if (kFault == Fault::pause_storm && --pauses_ > 0) return;
  paused_ = false;
  if (reading_on_ || done_) return;
  reading_on_ = true;
  transport_.loop().defer(read_on_);
}

void Exchange::cancel() {
  if (kFault == Fault::cancel_before_head && phase_ < SMG_PHASE_HEAD) return;
  if (kFault == Fault::cancel_inside_head && inside_ == Inside::head) return;
  if (kFault == Fault::cancel_inside_data && inside_ == Inside::data) return;
  if (kFault == Fault::cancel_inside_end && inside_ == Inside::end) {
    listener_->end(SMG_END_COMPLETE, phase_, {});
  }
  if (kFault == Fault::cancel_between && phase_ >= SMG_PHASE_HEAD && inside_ == Inside::nothing &&
      !paused_) {
    return;
  }
  if (kFault == Fault::cancel_paused && paused_) return;
  if (kFault == Fault::cancel_storm && transport_.loop().current() != 0 &&
      phase_ < SMG_PHASE_HEAD) {
    return;
  }
  if (kFault == Fault::cancel_twice) {
    if (std::exchange(done_, true)) return listener_->end(SMG_END_COMPLETE, phase_, {});
    transport_.loop().unwatch(watch_);
    shutdown(watch_.fd, SHUT_RDWR);
    transport_.loop().clear(timer_);
    return;
  }
  if (!done_) let_go();
}

void Exchange::late() noexcept {
  finish(SMG_END_TIMEOUT, "the deadline passed");
}

void Exchange::ready(std::uint32_t /*events*/) noexcept {
  if (!out_.empty()) write();
  if (!done_) read();
}

void Exchange::read_on() noexcept {
  reading_on_ = false;
  if (done_ || paused_) return;
  parse();
  if (!done_ && !paused_) read();
}

void Exchange::write() {
  const ssize_t sent = send(watch_.fd, out_.data(), out_.size(), MSG_NOSIGNAL);
  if (sent > 0) {
    phase_ = SMG_PHASE_SENT;
    out_.erase(0, static_cast<std::size_t>(sent));
  } else if (errno != EAGAIN && errno != ENOTCONN) {
    finish(phase_ == SMG_PHASE_CONNECT ? SMG_END_CONNECT_FAILED : SMG_END_CONNECTION_LOST,
           "the engine does not take the request");
  }
}

void Exchange::read() {
  char room[16384];
  while (!done_ && !paused_ && !eof_) {
    const ssize_t size = recv(watch_.fd, room, sizeof room, 0);
    if (size < 0 && (errno == EAGAIN || errno == ENOTCONN)) return;
    if (size > 0) {
      in_.append(room, static_cast<std::size_t>(size));
    } else {
      eof_ = true;
    }
    parse();
  }
}

void Exchange::told(std::int32_t answer) {
  inside_ = Inside::nothing;
  if (answer == SMG_PAUSE && kFault != Fault::pause) paused_ = true;
}

void Exchange::parse() {
  smg::http1::ResponseScratch scratch;
  while (!done_ && !paused_) {
    const auto step = parser_.next(in_.data(), in_.size(), scratch);
    switch (step.kind) {
      case smg::http1::StepKind::need_more:
        if (!eof_) return;
        if (parser_.end_of_stream().kind == smg::http1::StepKind::complete ||
            (kFault == Fault::stream_failures && phase_ >= SMG_PHASE_HEAD)) {
          return finish(SMG_END_COMPLETE, {});
        }
        return finish(SMG_END_CONNECTION_LOST, "the engine closed early");
      case smg::http1::StepKind::head:
        phase_ = SMG_PHASE_HEAD;
        inside_ = Inside::head;
        told(listener_->head(scratch.head));
        break;
      case smg::http1::StepKind::body:
        phase_ = SMG_PHASE_DATA;
        inside_ = Inside::data;
        told(listener_->data(step.body));
        break;
      case smg::http1::StepKind::complete:
        return finish(SMG_END_COMPLETE, {});
      case smg::http1::StepKind::error:
        return finish(SMG_END_BAD_RESPONSE, step.reason);
    }
    in_.erase(0, std::min(step.consumed, in_.size()));
  }
}

void Exchange::finish(std::uint32_t kind, std::string_view detail) {
  if (done_) return;
  inside_ = Inside::end;
  listener_->end(kind, phase_, detail);
  inside_ = Inside::nothing;
  if (!done_) let_go();
}

void Exchange::let_go() {
  done_ = true;
  transport_.loop().clear(timer_);
  if (watch_.fd >= 0) {
    transport_.loop().unwatch(watch_);
    shutdown(watch_.fd, SHUT_RDWR);
  }
  transport_.take(number_).release();  // gone() has it
  transport_.loop().defer(gone_);
}

void Exchange::gone() noexcept {
  if (reading_on_) return transport_.loop().defer(gone_);
  delete this;
}

void Endpoint::start(const smg_request& request, std::uint64_t ticket, std::uint64_t* stream) {
  if constexpr (kFault == Fault::wrong_thread) {
    std::thread([&] {
      static smg_timer timer{};
      timer.fired = nothing;
      transport_.loop().set(timer, 1);
    }).join();
  }
  Exchange& exchange =
      transport_.add(std::make_unique<ToSink>(transport_, worker_.ref, ticket), stream);
  exchange.begin(worker_, render(request, worker_), request.deadline);
}

void Endpoint::probe(const smg_probe& probe, smg_probe_done done, void* context) {
  std::uint64_t number = 0;
  smg_request request{};
  request.method = smg::view("GET");
  request.path = probe.health_path;
  Exchange& exchange = transport_.add(std::make_unique<ToProbe>(done, context), &number);
  const auto* const clock = transport_.host().require<smg_clock_service>(SMG_SERVICE_CLOCK);
  exchange.begin(
      worker_, render(request, worker_),
      clock->now(transport_.host().raw()) + (probe.timeout_ns == 0 ? kSecond : probe.timeout_ns));
}

Transport::Transport(smg::Host host, const smg_sink* sink)
    : host_(host), sink_(sink), loop_(host), fleet_(host), running_(loop_.count()) {}

Exchange* Transport::find(std::uint64_t number) {
  auto& exchanges = running_[loop_.current()].exchanges;
  const auto found = exchanges.find(number);
  return found == exchanges.end() ? nullptr : found->second.get();
}

void Transport::pause(std::uint64_t stream) {
  if (Exchange* const exchange = find(stream)) exchange->pause();
}

void Transport::resume(std::uint64_t stream) {
  if (Exchange* const exchange = find(stream)) exchange->resume();
}

void Transport::cancel(std::uint64_t stream) {
  Exchange* const exchange = find(stream);
  if (exchange != nullptr) return exchange->cancel();
  if constexpr (kFault == Fault::cancel_after_end) std::abort();
}

Exchange& Transport::add(std::unique_ptr<Listener> listener, std::uint64_t* number) {
  Running& running = running_[loop_.current()];
  *number = ++running.last;
  auto exchange = std::make_unique<Exchange>(*this, *number, std::move(listener));
  return *running.exchanges.emplace(*number, std::move(exchange)).first->second;
}

std::unique_ptr<Exchange> Transport::take(std::uint64_t number) {
  auto& exchanges = running_[loop_.current()].exchanges;
  const auto found = exchanges.find(number);
  if (found == exchanges.end()) return nullptr;
  auto exchange = std::move(found->second);
  exchanges.erase(found);
  return exchange;
}

}  // namespace broken

SMG_EXPORT_PLUGINS(smg::transport<broken::Transport>({.name = "broken_transport",
                                                      .version = "1",
                                                      .vendor = "tests",
                                                      .summary = "HTTP/1.1, a connection each"}));
