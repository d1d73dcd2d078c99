#include "stream_load.hpp"

#include "request.hpp"

namespace smg::bench {
namespace {

constexpr std::uint32_t kStdin = UINT32_MAX;

}  // namespace

StreamLoad::StreamLoad(const Options& options)
    : options_(options),
      server_(server_address(options)),
      request_(make_request(options)),
      interval_(nanos(options.interval_ms / 1e3)),
      streams_(options.connections),
      start_(now()),
      window_(options, start_ + nanos(options.ramp_s + options.warmup_s)) {}

boost::json::object StreamLoad::run() {
  const auto give_up =
      start_ + nanos(options_.ramp_s + options_.warmup_s + options_.duration_s + options_.drain_s);
  for (window_.update(now()); !(window_.over() && all_ended()) && now() < give_up;
       window_.update(now())) {
    turn(window_.over() ? give_up : window_.next_edge());
  }
  if (!all_ended()) {
    errors_["unfinished"] = streams_.size() - ended_;
    last_end_ = now();
  }
  return report();
}

boost::json::object StreamLoad::hold() {
  const auto give_up = start_ + nanos(options_.ramp_s + options_.drain_s);
  while (begun_ + ended_ < streams_.size() && now() < give_up) turn(give_up);
  print_line({{"ready", true}, {"held", begun_}, {"errors", to_json(errors_)}});

  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = kStdin;
  // A file or /dev/null as stdin cannot be polled and counts as closed.
  bool open = epoll_ctl(loop_.fd(), EPOLL_CTL_ADD, STDIN_FILENO, &event) == 0;
  while (open) {
    loop_.run_once(now() + nanos(3600), [&](std::uint32_t index, std::uint32_t events) {
      if (index != kStdin) return on_event(index, events);
      char byte = 0;
      open = read(STDIN_FILENO, &byte, 1) > 0;
    });
  }
  return {{"mode", "idle"},
          {"connections", options_.connections},
          {"held", begun_ - ended_},
          {"errors", to_json(errors_)}};
}

Nanos StreamLoad::start_time(std::size_t index) const {
  const auto share = static_cast<double>(index) / static_cast<double>(streams_.size());
  return start_ + nanos(options_.ramp_s * share);
}

void StreamLoad::turn(Nanos deadline) {
  for (; launched_ < streams_.size() && start_time(launched_) <= now(); ++launched_) {
    auto& stream = streams_[launched_];
    stream.started = now();
    const auto event = stream.connection.submit(request_, server_, loop_.fd(), launched_);
    if (event != Event::kNone) on_end(stream, event);
  }
  if (launched_ < streams_.size()) deadline = std::min(deadline, start_time(launched_));
  loop_.run_once(deadline,
                 [this](std::uint32_t index, std::uint32_t events) { on_event(index, events); });
}

void StreamLoad::on_event(std::uint32_t index, std::uint32_t events) {
  auto& stream = streams_[index];
  const auto event = stream.connection.handle(events, [&](std::string_view piece) {
    begun_ += stream.begun ? 0 : 1;
    stream.begun = true;
    if (const auto count = stream.counter.feed(piece); count > 0) on_tokens(stream, count);
  });
  if (event != Event::kNone && event != Event::kIdleClose) on_end(stream, event);
}

void StreamLoad::on_tokens(Stream& stream, unsigned count) {
  const auto time = now();
  if (stream.tokens == 0) {
    first_token_.record(time - stream.started);
    stream.schedule = stream.started + interval_;
  }
  for (unsigned i = 0; i < count; ++i, ++stream.tokens) {
    const auto ideal = stream.schedule + interval_ * stream.tokens;
    if (time < ideal) stream.schedule -= ideal - time;
    all_.lag.record(time - ideal);
    if (window_.open()) in_window_.lag.record(time - ideal);
  }
  all_.tokens += count;
  if (window_.open()) in_window_.tokens += count;
}

void StreamLoad::on_end(Stream& stream, Event event) {
  ++ended_;
  last_end_ = now();
  if (event != Event::kComplete) {
    ++errors_[error_kind(event)];
  } else if (const int status = stream.connection.status(); status != 200) {
    ++errors_["status_" + std::to_string(status)];
  } else if (stream.tokens != options_.tokens || !stream.counter.done()) {
    ++errors_["truncated"];
  } else {
    ++completed_;
  }
  stream.connection.close();
}

boost::json::object StreamLoad::Tally::to_json(double seconds) const {
  return {{"seconds", seconds},
          {"tokens", tokens},
          {"tokens_per_s", static_cast<double>(tokens) / seconds},
          {"lag_ms", bench::to_json(lag)}};
}

boost::json::object StreamLoad::report() const {
  auto report = in_window_.to_json(window_.seconds());
  report["mode"] = "stream";
  report["connections"] = options_.connections;
  report["tokens_per_stream"] = options_.tokens;
  report["interval_ms"] = options_.interval_ms;
  report["request_bytes"] = request_.size();
  report["whole_run"] = all_.to_json(static_cast<double>(last_end_ - start_) / 1e9);
  report["first_token_ms"] = to_json(first_token_);
  report["completed"] = completed_;
  report["errors"] = to_json(errors_);
  add_cpu(report, options_, window_.before(), window_.after());
  return report;
}

}  // namespace smg::bench
