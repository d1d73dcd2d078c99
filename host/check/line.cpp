#include "host/check/line.hpp"

#include <stdexcept>
#include <thread>
#include <utility>

#include "host/base/views.hpp"
#include "host/config/worker_url.hpp"

namespace smg::check {
namespace {

bool speaks(const smg_transport_api& api, std::string_view scheme) {
  for (std::uint32_t i = 0; i < api.scheme_count; ++i) {
    if (text(api.schemes[i]) == scheme) return true;
  }
  return false;
}

constexpr const char* kChat =
    R"({"messages":[{"role":"user","content":"Hello"}],"stream":true,"max_tokens":64})";

}  // namespace

Exchange::Exchange(std::string path, std::string body) : request(std::move(path), std::move(body)) {
  stream.react = [this](Stream& self, Stream::Moment moment) {
    if (moment == Stream::Moment::release || moment == Stream::Moment::end) request.spoil();
    return react ? react(self, moment) : SMG_CONTINUE;
  };
}

std::string Line::no_engine(const Subject& subject) {
  const smg_transport_api& api = subject.plugin->transport();
  if (subject.command.engine.empty()) {
    if (speaks(api, "http")) return {};
    return "no engine: name a running one with --engine " + std::string(text(api.schemes[0])) +
           "://HOST:PORT";
  }
  std::string reason;
  const auto url = parse_worker_url(subject.command.engine, reason);
  if (!url) return "--engine " + subject.command.engine + ": " + reason;
  if (speaks(api, url->scheme)) return {};
  return "--engine " + subject.command.engine + " is not of this transport's schemes";
}

Line::Line(Subject& subject) : subject_(subject), instance_(subject.create()) {
  const smg_transport_api& api = instance_->transport();
  if (subject.command.engine.empty()) {
    engine_.emplace();
    WorkerUrl url;
    url.port = engine_->port();
    url.scheme = "http";
    url.host = "127.0.0.1";
    url.text = "http://127.0.0.1:" + std::to_string(url.port);
    worker_ = std::make_unique<LocalWorker>(api, url);
  } else {
    std::string reason;
    worker_ = std::make_unique<LocalWorker>(api, *parse_worker_url(subject.command.engine, reason));
  }
  std::string problem;
  subject.rig.on_control([&] { endpoint_ = open_endpoint(*instance_, *worker_, problem); });
  if (endpoint_ == nullptr) throw std::runtime_error(problem);
}

Line::~Line() {
  close_endpoint(subject_.rig, *instance_, endpoint_);
  subject_.rig.destroy(std::move(instance_));
}

std::unique_ptr<Exchange> Line::exchange(const std::string& name) const {
  if (built_in()) return std::make_unique<Exchange>("/check/" + name, kChat);
  return std::make_unique<Exchange>("/v1/chat/completions", kChat);
}

void Line::start(Exchange& exchange, std::uint32_t loop, std::uint64_t limit_ms) {
  subject_.rig.on_loop(loop, [&] {
    smg_request& request = exchange.request.view();
    request.flags = SMG_REQUEST_STREAM;
    if (limit_ms > 0) request.deadline = Loop::current()->now() + limit_ms * 1'000'000;
    subject_.rig.streams().start(instance_->transport(), endpoint_, request, exchange.stream);
  });
}

void Line::pause(Exchange& exchange) {
  subject_.rig.on_loop(exchange.stream.loop, [&] {
    exchange.stream.paused = true;
    instance_->transport().pause(instance_->self(), exchange.stream.number);
  });
}

void Line::resume(Exchange& exchange) {
  subject_.rig.on_loop(exchange.stream.loop, [&] {
    exchange.stream.paused = false;
    instance_->transport().resume(instance_->self(), exchange.stream.number);
  });
}

void Line::cancel(Exchange& exchange) {
  subject_.rig.on_loop(exchange.stream.loop, [&] {
    cancel_here(exchange.stream);
    exchange.request.spoil();
  });
}

void Line::cancel_here(Stream& stream) {
  if (!stream.ended()) stream.cancelled = true;
  instance_->transport().cancel(instance_->self(), stream.number);
}

void Line::cancel_number(std::uint32_t loop, std::uint64_t number) {
  subject_.rig.on_loop(loop, [&] { instance_->transport().cancel(instance_->self(), number); });
}

bool Line::ends(const Exchange& exchange, std::uint64_t milliseconds) {
  return subject_.rig.wait([&] { return exchange.stream.ended(); }, milliseconds);
}

void Line::linger() {
  // Nothing to wait for: what is waited for is that nothing comes.
  subject_.rig.wait([] { return false; }, 30);
  subject_.rig.settle();
}

Finding on_line(Subject& subject, Finding (*rule)(Line& line)) {
  if (auto reason = Line::no_engine(subject); !reason.empty()) return skipped(std::move(reason));
  Finding finding;
  {
    Line line(subject);
    finding = rule(line);
  }
  const Complaints& complaints = subject.rig.complaints();
  constexpr const char* kHeader = "smg/transport.h says what may come when, and on which thread";
  if (auto text = complaints.first(Complaints::Kind::order); !text.empty()) {
    return broken(text, kHeader);
  }
  if (auto text = complaints.first(Complaints::Kind::thread); !text.empty() && finding.failed()) {
    return broken(finding.text + "; " + text, kHeader);
  }
  return finding;
}

}  // namespace smg::check
