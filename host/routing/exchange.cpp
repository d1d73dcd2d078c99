#include "host/routing/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "host/base/views.hpp"
#include "host/routing/error_reply.hpp"
#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/routing_hints.hpp"
#include "host/routing/selection.hpp"

namespace smg {
namespace {

constexpr std::uint64_t kHoldLimit =
    256 * 1024;  // a plain answer up to this size is held until it is complete

bool retryable(std::uint32_t status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::string_view error_type(std::uint32_t status) {
  if (status == 400) return "validation_error";
  if (status == 404) return "no_workers";
  if (status == 408 || status == 504) return "timeout";
  if (status >= 500) return "backend_error";
  return "internal_error";
}

}  // namespace

Exchange::~Exchange() {
  if (submitted_) abort();
}

void Exchange::open(Client& client, const Route& route) {
  client_ = &client;
  route_ = &route;
  buffer_ = state_.take_buffer();
  started_ = state_.loop.now();
  attempts_ = 0;
  status_ = 0;
  streaming_ = head_sent_ = held_ = paused_ = submitted_ = false;
}

void Exchange::submit(std::string_view request_id) {
  submitted_ = true;
  const FleetSnapshot& fleet = state_.fleet();
  Bytes& body = buffer_->body;
  body.reserve(kBodySlack);
  RequestFacts& facts = state_.facts;
  const Extractor extractor =
      route_->rules == BodyRules::plain ? Extractor::plain : Extractor::validated;
  const BodyError error = state_.reader.read(body.view(), route_->endpoint, extractor, fleet.needs,
                                             facts, state_.routing);
  if (error) {
    const std::string text = error.body();
    submitted_ = false;
    state_.give_back(std::move(buffer_));
    client_->reply({.status = error.status(), .content_type = error.content_type(), .body = text});
    return;
  }
  const auto& aliases = state_.config.models.aliases;
  const auto alias = fleet.pools.contains(facts.model) ? aliases.end() : aliases.find(facts.model);
  model_ = alias == aliases.end() ? facts.model : alias->second;
  streaming_ = facts.stream;

  smg_request& request = buffer_->request;
  request = {};
  request.struct_size = sizeof request;
  request.endpoint = route_->endpoint;
  request.flags = streaming_ ? SMG_REQUEST_STREAM : 0;
  request.method = view("POST");
  request.path = view(route_->worker_path);
  if (route_->endpoint == SMG_ENDPOINT_RERANK) {
    rerank_ = std::make_unique<RerankTerms>(rerank_terms(body.view(), facts, model_));
  }
  if (route_->endpoint == SMG_ENDPOINT_RERANK && extractor == Extractor::plain) {
    request.body_size =
        short_rerank_body(body.view(), facts, kNoRank, buffer_->scratch, buffer_->pieces);
  } else {
    request.body_size =
        outbound_body(body.view(), facts, model_, kNoRank, buffer_->scratch, buffer_->pieces);
  }
  request.body = buffer_->pieces.data();
  request.body_count = static_cast<std::uint32_t>(buffer_->pieces.size());
  request.model = view(model_);
  request.request_id = view(request_id);
  attempt();
}

Series Exchange::router_series(std::size_t what) {
  const Pool* pool = state_.fleet().find(model_);
  const auto make = [&] {
    if (what == 2) {
      return state_.families.router_request_duration.with(
          {"http", "regular", "http", model_, route_->label});
    }
    return state_.families.router_requests.with(
        {"http", "regular", "http", model_, route_->label, what == 1 ? "true" : "false"});
  };
  if (pool == nullptr) return make();
  auto& id = pool->series.ids[route_->endpoint][what];
  if (const std::uint64_t known = id.load(std::memory_order_relaxed); known != 0) {
    return Series::from_id(known);
  }
  const Series series = make();
  id.store(series.id(), std::memory_order_relaxed);
  return series;
}

void Exchange::attempt() {
  const FleetSnapshot& fleet = state_.fleet();
  if (attempts_++ == 0) {
    router_series(streaming_ ? 1 : 0).add();
  } else if (fleet.needs != 0) {
    const Extractor extractor =
        route_->rules == BodyRules::plain ? Extractor::plain : Extractor::validated;
    state_.reader.read(buffer_->body.view(), route_->endpoint, extractor, fleet.needs, state_.facts,
                       state_.routing);
  }
  const Pool* pool = fleet.find(model_);
  if (pool == nullptr) {
    fail(404, "model_not_found", "No worker available for model '" + model_ + "'");
    return;
  }
  smg_policy_request request{};
  request.struct_size = sizeof request;
  request.endpoint = route_->endpoint;
  request.attempt = attempts_ - 1;
  request.now = state_.loop.now();
  request.random = state_.random.next();
  request.model = view(model_);
  if (fleet.needs != 0) {
    if ((fleet.needs & SMG_NEEDS_TOKENS) != 0) {
      if (const auto hint = buffer_->find("x-smg-routing-tokens"); !hint.empty()) {
        std::vector<std::uint32_t> tokens;
        if (parse_routing_tokens(hint, tokens)) state_.routing.tokens.swap(tokens);
      }
    }
    request.tokens = state_.routing.tokens.data();
    request.token_count = state_.routing.tokens.size();
    if (request.token_count == 0) request.text = view(state_.routing.text);
    if ((fleet.needs & SMG_NEEDS_HEADERS) != 0) {
      request.headers = buffer_->all().data();
      request.header_count = static_cast<std::uint32_t>(buffer_->all().size());
    }
  }
  if (const auto key = buffer_->find("x-smg-routing-key"); is_routing_key(key)) {
    request.routing_key = view(key);
  }
  const Selection selection = select_worker(*pool, request);
  if (selection.fault != SelectionFault::none) pool->policy->faults.add();
  if (selection.index == Selection::kNone) {
    fail(503, "no_available_workers",
         selection.declined ? "Policy returned no eligible worker"
                            : "All workers are unavailable (circuit breaker open or unhealthy)");
    return;
  }
  pool->selections.add();
  policy_ = pool->policy;
  dispatch(pool->members[selection.index], request);
}

void Exchange::dispatch(const std::shared_ptr<Worker>& worker,
                        const smg_policy_request& policy_request) {
  worker_ = worker;
  worker_->enter();
  worker_->requests_active().add(1);
  if (policy_->api->dispatched != nullptr) {
    policy_->api->dispatched(policy_->self, &policy_request, &worker_->view());
  }
  auto& headers = buffer_->forwarded();
  // The worker's own credential stands in where the client brings none; a retry may meet another
  // worker.
  if (attempts_ > 1) buffer_->seal_headers();
  if (!worker_->authorization().empty() && buffer_->find("authorization").empty()) {
    headers.push_back({view("authorization"), view(worker_->authorization())});
  }
  headers.push_back({view("content-type"), view("application/json")});
  smg_request& request = buffer_->request;
  request.headers = headers.data();
  request.header_count = static_cast<std::uint32_t>(headers.size());
  request.deadline = state_.loop.now() + state_.request_timeout;
  status_ = 0;
  paused_ = false;
  stream_number_ = 0;
  ticket_ = state_.table.insert(this);
  const Endpoint& endpoint = *worker_->endpoint();
  endpoint.api().start(endpoint.handle(), &request, ticket_, &stream_number_);
}

std::int32_t Exchange::on_head(const smg_response_head& head) {
  status_ = head.status;
  if (should_retry(status_)) {
    state_.upstream_response(status_).add();
    const Endpoint& endpoint = *worker_->endpoint();
    state_.table.erase(ticket_);
    endpoint.api().cancel(endpoint.transport().self, stream_number_);
    leave_worker(status_ < 500);
    retry_later();
    return SMG_PAUSE;
  }
  state_.upstream_response(status_).add();
  if (status_ < 300) {
    router_series(2).observe(static_cast<double>(state_.loop.now() - started_) / 1e9);
  } else if (status_ >= 400) {
    count_final(status_);
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
  held_bytes_ = 0;
  head_sent_ = true;
  held_ = client_->begin_response(relayed);
  return SMG_CONTINUE;
}

std::int32_t Exchange::on_data(std::string_view data) {
  if (answer_ != nullptr) {
    if (answer_->size() + data.size() > state_.config.server.max_payload_size) {
      const Endpoint& endpoint = *worker_->endpoint();
      state_.table.erase(ticket_);
      endpoint.api().cancel(endpoint.transport().self, stream_number_);
      leave_worker(false);
      fail(502, "upstream_response_too_large",
           "The worker's answer is larger than max_payload_size allows", false);
      return SMG_PAUSE;
    }
    answer_->append(data);
    return SMG_CONTINUE;
  }
  if (held_ && (held_bytes_ += data.size()) > kHoldLimit) {
    held_ = false;
    client_->release_response();
  }
  if (client_->send_body(data) || held_) return SMG_CONTINUE;
  paused_ = true;
  return SMG_PAUSE;
}

void Exchange::on_end(const smg_outcome& outcome) {
  state_.table.erase(ticket_);
  if (outcome.resends > 0) state_.send_retries.add(outcome.resends);
  if (outcome.kind == SMG_END_COMPLETE && status_ != 0) {
    leave_worker(status_ < 500);
    finish_answer();
    return;
  }
  const std::string worker_url = worker_->url();
  const std::string detail(text(outcome.detail));
  leave_worker(false);
  if (head_sent_ && !held_) {
    state_.families.router_responses_cut.add();
    state_.families.router_request_errors
        .with({"http", "regular", "http", model_, route_->label, "backend_error"})
        .add();
    submitted_ = false;
    release_buffer();
    client_->cut_response();
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
  submitted_ = false;
  release_buffer();
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
  submitted_ = false;
  release_buffer();
  client_->reply({.status = 200, .content_type = "application/json", .body = answer});
}

bool Exchange::should_retry(std::uint32_t status) const {
  const auto& retry = state_.config.retry;
  return !retry.disabled && retryable(status) && attempts_ < retry.max_retries &&
         buffer_ != nullptr;
}

void Exchange::retry_later() {
  const auto& retry = state_.config.retry;
  double delay = static_cast<double>(retry.initial_backoff_ms) *
                 std::pow(retry.backoff_multiplier, static_cast<double>(attempts_ - 1));
  delay = std::min(std::floor(delay), static_cast<double>(retry.max_backoff_ms));
  const double unit = static_cast<double>(state_.random.next() >> 11) / 9007199254740992.0;
  delay *= 1 + retry.jitter_factor * (2 * unit - 1);
  retry_.owner = this;
  retry_.fired = timer_fired;
  state_.loop.set_timer(&retry_,
                        state_.loop.now() + static_cast<std::uint64_t>(std::max(delay, 0.0) * 1e6));
}

void Exchange::timer_fired(smg_timer* timer) {
  static_cast<RetryTimer*>(timer)->owner->attempt();
}

void Exchange::fail(std::uint32_t status, std::string_view code, std::string_view message,
                    bool may_retry, std::string_view worker_url) {
  state_.families.router_upstream_responses.with({"http", std::to_string(status), code}).add();
  if (may_retry && should_retry(status)) {
    retry_later();
    return;
  }
  count_final(status);
  const std::string body = error_body(status, code, message);
  submitted_ = false;
  release_buffer();
  client_->reply({.status = status,
                  .content_type = "application/json",
                  .body = body,
                  .error_code = code,
                  .worker_url = worker_url});
}

void Exchange::count_final(std::uint32_t status) {
  state_.families.router_request_errors
      .with({"http", "regular", "http", model_, route_->label, error_type(status)})
      .add();
}

void Exchange::leave_worker(bool success) {
  if (worker_ == nullptr) return;
  worker_->leave();
  worker_->requests_active().add(-1);
  if (policy_ != nullptr && policy_->api->completed != nullptr) {
    policy_->api->completed(policy_->self, &worker_->view(), success ? 1 : 0);
  }
  worker_.reset();
  policy_ = nullptr;
}

void Exchange::release_buffer() {
  rerank_.reset();
  state_.give_back(std::move(buffer_));
}

void Exchange::client_drained() {
  if (!paused_ || worker_ == nullptr) return;
  paused_ = false;
  const Endpoint& endpoint = *worker_->endpoint();
  endpoint.api().resume(endpoint.transport().self, stream_number_);
}

void Exchange::abort() {
  if (!submitted_) {
    state_.client_abort_upload.add();
  } else {
    (head_sent_ ? state_.client_abort_streaming : state_.client_abort_waiting).add();
  }
  submitted_ = false;
  state_.loop.clear_timer(&retry_);
  if (worker_ != nullptr) {
    const std::shared_ptr<Worker> worker = worker_;
    state_.table.erase(ticket_);
    worker->endpoint()->api().cancel(worker->endpoint()->transport().self, stream_number_);
    leave_worker(true);
  }
  answer_.reset();
  release_buffer();
}

const smg_sink& Exchange::sink() {
  static const auto find = [](std::uint64_t ticket) -> Exchange* {
    LoopState* state = LoopState::current();
    if (state == nullptr) return nullptr;  // a foreign thread: nothing here may be touched
    Exchange* exchange = state->table.find(ticket);
    if (exchange == nullptr) state->late_sink_calls.add();
    return exchange;
  };
  static constexpr smg_sink kSink{
      .struct_size = sizeof(smg_sink),
      .reserved = 0,
      .head = [](std::uint64_t ticket, const smg_response_head* head) -> std::int32_t {
        Exchange* exchange = find(ticket);
        return exchange == nullptr ? SMG_CONTINUE : exchange->on_head(*head);
      },
      .data = [](std::uint64_t ticket, const char* data, std::uint64_t size) -> std::int32_t {
        Exchange* exchange = find(ticket);
        return exchange == nullptr ? SMG_CONTINUE : exchange->on_data({data, size});
      },
      .end =
          [](std::uint64_t ticket, const smg_outcome* outcome) {
            if (Exchange* exchange = find(ticket)) exchange->on_end(*outcome);
          },
      .release =
          [](std::uint64_t ticket) {
            Exchange* exchange = find(ticket);
            if (exchange == nullptr || !exchange->head_sent_) return;
            exchange->state_.families.router_buffers_released_early.add(
                static_cast<double>(exchange->buffer_->body.size()));
            exchange->release_buffer();
          },
  };
  return kSink;
}

}  // namespace smg
