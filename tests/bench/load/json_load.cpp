#include "json_load.hpp"

#include "request.hpp"

namespace smg::bench {
namespace {

constexpr Nanos kRetryAfter = 10'000'000;

}  // namespace

JsonLoad::JsonLoad(const Options& options)
    : options_(options),
      server_(server_address(options)),
      request_(make_request(options)),
      window_(options, now() + nanos(options.warmup_s)),
      connections_(options.connections),
      due_(options.connections),
      next_due_(now()) {}

boost::json::object JsonLoad::run() {
  for (std::uint32_t i = 0; i < connections_.size(); ++i) next(i, now());
  for (window_.update(now()); !window_.over(); window_.update(now())) {
    loop_.run_once(next_deadline(),
                   [this](std::uint32_t index, std::uint32_t events) { on_event(index, events); });
    const auto time = now();
    while (!retry_.empty() && retry_.front().first <= time) {
      const auto index = retry_.front().second;
      retry_.pop_front();
      next(index, time);
    }
    start_due(time);
  }
  return report();
}

Nanos JsonLoad::next_deadline() const {
  auto deadline = window_.next_edge();
  if (!retry_.empty()) deadline = std::min(deadline, retry_.front().first);
  if (options_.rate > 0) deadline = std::min(deadline, next_due_);
  return deadline;
}

Nanos JsonLoad::gap() {
  return nanos(std::exponential_distribution<double>(options_.rate)(random_));
}

void JsonLoad::start_due(Nanos time) {
  for (; options_.rate > 0 && next_due_ <= time; next_due_ += gap()) {
    if (free_.empty()) {
      waiting_.push_back(next_due_);
    } else {
      const auto index = free_.back();
      free_.pop_back();
      start(index, next_due_);
    }
  }
}

void JsonLoad::next(std::uint32_t index, Nanos time) {
  if (options_.rate <= 0) {
    start(index, time);
  } else if (waiting_.empty()) {
    free_.push_back(index);
  } else {
    const auto due = waiting_.front();
    waiting_.pop_front();
    start(index, due);
  }
}

void JsonLoad::start(std::uint32_t index, Nanos due) {
  due_[index] = due;
  const auto event = connections_[index].submit(request_, server_, loop_.fd(), index);
  if (event != Event::kNone) on_end(index, event);
}

void JsonLoad::on_event(std::uint32_t index, std::uint32_t events) {
  const auto event = connections_[index].handle(events, [](std::string_view) {});
  if (event != Event::kNone) on_end(index, event);
}

void JsonLoad::on_end(std::uint32_t index, Event event) {
  const auto time = now();
  if (event == Event::kIdleClose) {
    ++reconnects_;  // the next request opens a new connection
    return;
  }
  if (event == Event::kComplete && connections_[index].status() == 200) {
    if (window_.open()) latency_.record(time - due_[index]);
    next(index, time);
    return;
  }
  ++errors_[event == Event::kComplete ? "status_" + std::to_string(connections_[index].status())
                                      : error_kind(event)];
  retry_.emplace_back(time + kRetryAfter, index);
}

boost::json::object JsonLoad::report() const {
  boost::json::object report{
      {"mode", "json"},
      {"connections", options_.connections},
      {"rate", options_.rate},
      {"request_bytes", request_.size()},
      {"seconds", window_.seconds()},
      {"requests", latency_.count()},
      {"requests_per_s", static_cast<double>(latency_.count()) / window_.seconds()},
      {"latency_ms", to_json(latency_)},
      {"unserved", waiting_.size()},
      {"reconnects", reconnects_},
      {"errors", to_json(errors_)},
  };
  add_cpu(report, options_, window_.before(), window_.after());
  return report;
}

}  // namespace smg::bench
