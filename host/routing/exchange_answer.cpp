// The way back: what the worker answers, and what the client gets of it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>

#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/routing/error_reply.hpp"
#include "host/routing/exchange.hpp"

namespace smg {
namespace {

// A plain answer up to this size is held until it is complete.
constexpr std::uint64_t kHoldLimit = 256 * 1024;
// A refusal longer than this is not read to its end.
constexpr std::uint64_t kDropLimit = 64 * 1024;

std::string_view error_type(std::uint32_t status) {
  if (status == 400) return "validation_error";
  if (status == 404) return "no_workers";
  if (status == 408 || status == 504) return "timeout";
  if (status >= 500) return "backend_error";
  return "internal_error";
}

}  // namespace

std::int32_t Exchange::on_head(const smg_response_head& head) {
  status_ = head.status;
  state_.upstream_response(status_).add();
  if (status_ >= 500) {
    state_.families.worker_errors.with({"regular", "http", error_type(status_)}).add();
  }
  if (should_retry(status_)) {
    record_outcome(status_);
    // What it says is read to the end while we wait, so that its connection can be used again.
    dropping_ = true;
    retry_later();
    return SMG_CONTINUE;
  }
  if (rerank_ != nullptr && status_ < 300) {
    answer_ = std::make_unique<Bytes>();
    return SMG_CONTINUE;
  }
  RelayedHead relayed;
  relayed.status = head.status;
  relayed.headers = {head.headers, head.header_count};
  relayed.content_length = head.content_length;
  relayed.worker_url = worker_->url();
  relayed.event_stream = streaming_;
  relayed.hold = !streaming_ && head.content_length <= static_cast<std::int64_t>(kHoldLimit);
  head_sent_ = true;
  held_ = client_->begin_response(relayed);
  // A held answer counts when it is complete.
  if (!held_) {
    record_outcome(status_);
    count_relayed();
  }
  if (streaming_) watch_pause();
  return SMG_CONTINUE;
}

void Exchange::watch_pause() {
  const std::uint64_t limit = seconds_to_ns(state_.config().limits.stream_idle_timeout_secs);
  if (limit == 0) return;
  last_data_ = state_.loop.now();
  timer_.owner = this;
  timer_.fired = timer_fired;
  state_.loop.set_timer(&timer_, last_data_ + limit);
}

void Exchange::look_at_pause() {
  const std::uint64_t limit = seconds_to_ns(state_.config().limits.stream_idle_timeout_secs);
  const std::uint64_t now = state_.loop.now();
  if (limit == 0 || worker_ == nullptr) return;
  if (paused_) last_data_ = now;  // it is the client that does not go on
  if (last_data_ + limit > now) {
    state_.loop.set_timer(&timer_, last_data_ + limit);
    return;
  }
  state_.families.http_limit_rejections.with({"stream_idle_timeout"}).add();
  spdlog::warn("request {}: worker {} has sent nothing of a stream for {} s, it is cut",
               request_id_, worker_->url(), state_.config().limits.stream_idle_timeout_secs);
  cancel_stream(false);
  cut();
}

void Exchange::cut() {
  state_.families.router_responses_cut.add();
  state_.families.router_request_errors
      .with({"http", "regular", "http", model_, route_->label, "backend_error"})
      .add();
  end_request();
  client_->cut_response();
}

std::int32_t Exchange::on_data(std::string_view data) {
  if (dropping_) {
    held_bytes_ += data.size();
    if (held_bytes_ <= kDropLimit) return SMG_CONTINUE;
    cancel_stream(status_ < 500);
    return SMG_PAUSE;
  }
  if (answer_ != nullptr) {
    if (answer_->size() + data.size() > state_.config().server.max_payload_size) {
      cancel_stream(false);
      fail(502, "upstream_response_too_large",
           "The worker's answer is larger than max_payload_size allows", false);
      return SMG_PAUSE;
    }
    answer_->append(data);
    return SMG_CONTINUE;
  }
  last_data_ = state_.loop.now();
  if (held_ && (held_bytes_ += data.size()) > kHoldLimit) {
    held_ = false;
    record_outcome(status_);
    count_relayed();
    client_->release_response();
  }
  if (client_->send_body(data) || held_) return SMG_CONTINUE;
  paused_ = true;
  return SMG_PAUSE;
}

void Exchange::on_end(const smg_outcome& outcome) {
  state_.table.erase(ticket_);
  if (outcome.resends > 0) state_.send_retries.add(outcome.resends);
  if (dropping_) {
    dropping_ = false;
    leave_worker(status_ < 500);
    return;
  }
  if (outcome.kind == SMG_END_COMPLETE && status_ != 0) {
    if (held_ || answer_ != nullptr) record_outcome(status_);
    leave_worker(status_ < 500);
    finish_answer();
    return;
  }
  const std::string worker_url = worker_->url();
  const std::string detail(text(outcome.detail));
  if (head_sent_ && !held_) {
    leave_worker(false);
    cut();
    return;
  }
  if (head_sent_) {
    head_sent_ = held_ = false;
    client_->take_back_response();
  }
  std::uint32_t status = 500;
  std::string_view code = "call_upstream_request_error";
  if (status_ != 0) {
    code = "read_response_body_failed";
  } else if (outcome.kind == SMG_END_TIMEOUT) {
    status = 504;
    code = "call_upstream_timeout";
  } else if (outcome.kind == SMG_END_BAD_RESPONSE || outcome.kind == SMG_END_ENGINE_ERROR) {
    status = 502;
    code = "call_upstream_decode_error";
  } else if (outcome.kind == SMG_END_REFUSED) {
    code = "call_upstream_builder_error";
  }
  record_outcome(status);
  leave_worker(false);
  answer_.reset();
  // Once the worker has answered, a failure of its body is not tried again.
  fail(status, code,
       "Request to worker '" + worker_url + "' failed" + (detail.empty() ? "" : ": " + detail),
       status_ == 0, worker_url);
}

void Exchange::finish_answer() {
  if (answer_ != nullptr) {
    finish_rerank();
    return;
  }
  if (held_) count_relayed();
  end_request();
  client_->end_response();
}

void Exchange::finish_rerank() {
  std::string answer;
  const auto worker_answer = std::move(answer_);
  if (!build_rerank_answer(worker_answer->view(), *rerank_, std::time(nullptr), answer)) {
    fail(500, "rerank_response_build_failed", "The worker's rerank answer is not a result array",
         false);
    return;
  }
  count_relayed();
  end_request();
  client_->reply({.status = 200, .content_type = "application/json", .body = answer});
}

void Exchange::fail(std::uint32_t status, std::string_view code, std::string_view message,
                    bool may_retry, std::string_view worker_url) {
  state_.families.router_upstream_responses.with({"http", std::to_string(status), code}).add();
  if (may_retry && should_retry(status)) {
    retry_later();
    return;
  }
  if (may_retry && retryable(status)) {
    state_.families.worker_retries_exhausted.with({"regular", route_->label}).add();
  }
  count_final(status);
  const std::string body = error_body(status, code, message);
  end_request();
  client_->reply({.status = status,
                  .content_type = "application/json",
                  .body = body,
                  .error_code = code,
                  .worker_url = worker_url});
}

void Exchange::shed(std::string_view stage, std::string_view message) {
  static constexpr std::string_view kCode = "worker_overload_protection_shed";
  state_.families.overload_shed.with({stage}).add();
  state_.families.router_upstream_responses.with({"http", "503", kCode}).add();
  spdlog::debug("Overload shed branch={} stage={} model={} request_id={}",
                stage == "selection" ? "all_overloaded_shed" : "overloaded_at_dispatch", stage,
                model_, request_id_);
  refuse_busy(kCode, message,
              std::max<std::uint64_t>(state_.config().load_monitor.interval_secs, 1));
}

void Exchange::refuse_busy(std::string_view code, std::string_view message,
                           std::uint64_t retry_after) {
  count_final(503);
  const std::string body = error_body(503, code, message);
  const std::string retry = "retry-after: " + std::to_string(retry_after) + "\r\n";
  end_request();
  client_->reply({.status = 503,
                  .content_type = "application/json",
                  .body = body,
                  .error_code = code,
                  .extra_headers = retry});
}

void Exchange::count_relayed() {
  if (status_ < 300) {
    router_series(2).observe(static_cast<double>(state_.loop.now() - started_) / 1e9);
  } else if (status_ >= 400) {
    if (retryable(status_)) {
      state_.families.worker_retries_exhausted.with({"regular", route_->label}).add();
    }
    count_final(status_);
  }
}

void Exchange::count_final(std::uint32_t status) {
  state_.families.router_request_errors
      .with({"http", "regular", "http", model_, route_->label, error_type(status)})
      .add();
}

void Exchange::client_drained() {
  if (!paused_ || worker_ == nullptr) return;
  paused_ = false;
  state_.table.resume(ticket_);
}

}  // namespace smg
