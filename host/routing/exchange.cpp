#include "host/routing/exchange.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "host/base/views.hpp"
#include "host/routing/error_reply.hpp"
#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/routing_hints.hpp"
#include "host/routing/retry_policy.hpp"
#include "host/routing/selection.hpp"
#include "host/routing/sticky_keys.hpp"

namespace smg {
namespace {

constexpr std::uint32_t kRequestNeeds = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS | SMG_NEEDS_HEADERS;

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
  streaming_ = head_sent_ = held_ = paused_ = submitted_ = dropping_ = false;
}

void Exchange::submit(std::string_view request_id) {
  submitted_ = true;
  request_id_ = request_id;
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
    end_request();
    client_->reply({.status = error.status(), .content_type = error.content_type(), .body = text});
    return;
  }
  model_ = fleet.canonical(facts.model);
  streaming_ = facts.stream;
  if (streaming_ && !enter_stream()) return;
  take_key();

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
  } else if ((fleet.needs & kRequestNeeds) != 0) {
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
  const PolicyRef& policy = *pool->policy;
  const smg_policy_request request = policy_request(fleet, policy);
  const bool may_shed = state_.config().overload.shed;
  const std::uint64_t key_hash = key_.empty() ? 0 : std::hash<std::string>()(key_) | 1;
  const bool sticky =
      state_.sticky != nullptr && !key_.empty() && (policy.needs & SMG_KEEPS_ROUTING_KEYS) == 0;
  if (sticky) state_.families.routing_key_source.with({key_from_rid_ ? "rid" : "header"}).add();
  const Selection selection = sticky
                                  ? state_.sticky->select(*pool, request, key_, key_hash, may_shed)
                                  : select_worker(*pool, request, may_shed);
  if (!accept(selection)) return;
  const auto& chosen = pool->members[selection.index];
  // Between a report and this line lie microseconds, but who asked for shedding gets it.
  if (may_shed && (chosen->state() & SMG_STATE_OVERLOADED) != 0) {
    shed("dispatch", "Worker '" + chosen->url() + "' for model '" + model_ +
                         "' became overloaded before dispatch");
    return;
  }
  if (selection.verdict != Verdict::chosen) {
    spdlog::debug("Veto fallback branch={} stage=selection worker={} model_id={} request_id={}",
                  selection.verdict == Verdict::steered_overload ? "overload" : "liveness",
                  chosen->url(), model_, request_id_);
  }
  pool->selections.add();
  policy.dispatched(request, chosen->view());
  if (policy.api->completed != nullptr) policy_ = pool->policy;
  routing_key_ = key_hash;
  dispatch(chosen, pool->endpoints[selection.index]);
}

std::string_view Exchange::header_key() const {
  for (const auto& name : state_.config().routing_key_override.headers) {
    if (const auto value = buffer_->find(name); is_routing_key(value)) return value;
  }
  return {};
}

void Exchange::take_key() {
  key_.clear();
  const bool sticky = state_.config().routing_key_override.enabled;
  key_from_rid_ = sticky && read_rid_key(state_.facts.rid.in(buffer_->body.view()), key_);
  if (key_from_rid_) return;
  const std::string_view header = header_key();
  key_.assign(sticky ? without_lineage(header) : header);
}

smg_policy_request Exchange::policy_request(const FleetSnapshot& fleet, const PolicyRef& policy) {
  smg_policy_request request{};
  request.struct_size = sizeof request;
  request.endpoint = route_->endpoint;
  request.attempt = attempts_ - 1;
  request.now = state_.loop.now();
  request.random = state_.random.next();
  request.model = view(model_);
  // A policy that keeps keys itself gets the key that is counted; for any other the gateway does
  // the keeping, and `rid` is none of its business.
  const bool whole =
      !state_.config().routing_key_override.enabled || (policy.needs & SMG_KEEPS_ROUTING_KEYS) != 0;
  request.routing_key = view(whole ? std::string_view(key_) : header_key());
  if ((fleet.needs & kRequestNeeds) == 0) return request;
  if ((fleet.needs & SMG_NEEDS_TOKENS) != 0) {
    if (const auto hint = buffer_->find("x-smg-routing-tokens"); !hint.empty()) {
      std::vector<std::uint32_t> tokens;
      if (parse_routing_tokens(hint, tokens)) state_.routing.tokens.swap(tokens);
    }
  }
  request.tokens = state_.routing.tokens.data();
  request.token_count = state_.routing.tokens.size();
  if (request.token_count == 0) request.text = view(state_.routing.text);
  request.cache_namespace = view(state_.routing.cache_namespace);
  if ((fleet.needs & SMG_NEEDS_HEADERS) != 0) {
    request.headers = buffer_->all().data();
    request.header_count = static_cast<std::uint32_t>(buffer_->all().size());
  }
  return request;
}

bool Exchange::accept(const Selection& selection) {
  switch (selection.verdict) {
    case Verdict::chosen:
      return true;
    case Verdict::steered_overload:
      state_.families.overload_fallback.with({"selection"}).add();
      return true;
    case Verdict::steered_liveness:
      state_.families.liveness_fallback.with({"selection"}).add();
      return true;
    case Verdict::shed:
      shed("selection", "All workers for model '" + model_ + "' are overloaded");
      return false;
    case Verdict::declined:
      fail(503, "no_available_workers", "Policy returned no eligible worker");
      return false;
    case Verdict::unavailable:
      fail(503, "no_available_workers",
           "All workers are unavailable (circuit breaker open or unhealthy)");
      return false;
  }
  return false;
}

void Exchange::dispatch(const std::shared_ptr<Worker>& worker,
                        const std::shared_ptr<Endpoint>& endpoint) {
  worker_ = worker;
  endpoint_ = endpoint;
  worker_->enter();
  worker_->requests_active().add(1);
  state_.connections_active.add(1);
  if (routing_key_ != 0) worker_->runtime()->keys().enter(routing_key_);
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
  request.deadline = state_.loop.now() + state_.request_timeout();
  status_ = 0;
  held_bytes_ = 0;
  paused_ = false;
  ticket_ = state_.table.insert(this, *endpoint_);
  state_.table.start(ticket_, request);
}

bool Exchange::should_retry(std::uint32_t status) const {
  return buffer_ != nullptr && retryable(status) && attempts_ < retry_policy().attempts;
}

RetryPolicy Exchange::retry_policy() const {
  const Pool* pool = state_.fleet().find(model_);
  return retry_policy_of(state_.config().retry,
                         pool == nullptr ? WorkerResilience{} : pool->resilience);
}

void Exchange::retry_later() {
  state_.families.worker_retries.with({"regular", route_->label}).add();
  const std::uint64_t delay = retry_policy().delay(attempts_ - 1, state_.random.next());
  state_.families.worker_retry_backoff.with({std::to_string(attempts_)})
      .observe(static_cast<double>(delay) / 1e9);
  timer_.owner = this;
  timer_.fired = timer_fired;
  state_.loop.set_timer(&timer_, state_.loop.now() + delay);
}

void Exchange::timer_fired(smg_timer* timer) {
  Exchange& self = *static_cast<Timer*>(timer)->owner;
  if (self.head_sent_) return self.look_at_pause();
  if (self.dropping_) self.cancel_stream(self.status_ < 500);
  self.attempt();
}

void Exchange::cancel_stream(bool success) {
  dropping_ = false;
  state_.table.cancel(ticket_);
  leave_worker(success);
}

bool Exchange::retryable(std::uint32_t status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

void Exchange::record_outcome(std::uint32_t status) {
  if (worker_ == nullptr) return;
  const auto& own = worker_->description().resilience;
  const auto listed = [status](const auto& codes) {
    return std::find(codes->begin(), codes->end(), status) != codes->end();
  };
  const bool capacity =
      own.capacity_status_codes ? listed(own.capacity_status_codes) : status == 429;
  if (capacity) return;  // busy is not broken
  const bool failure =
      own.retryable_status_codes ? listed(own.retryable_status_codes) : retryable(status);
  worker_->runtime()->record(!failure, state_.loop.now());
}

void Exchange::leave_worker(bool success) {
  if (worker_ == nullptr) return;
  worker_->leave();
  worker_->requests_active().add(-1);
  state_.connections_active.add(-1);
  if (routing_key_ != 0) worker_->runtime()->keys().leave(routing_key_);
  if (policy_ != nullptr) {
    policy_->completed(worker_->view(), success);
    policy_.reset();
  }
  worker_.reset();
  endpoint_.reset();
}

void Exchange::release_buffer() {
  rerank_.reset();
  state_.give_back(std::move(buffer_));
}

void Exchange::abort() {
  if (!submitted_) {
    state_.client_abort_upload.add();
  } else {
    (head_sent_ && !held_ ? state_.client_abort_streaming : state_.client_abort_waiting).add();
  }
  preempt();
}

void Exchange::preempt() {
  if (worker_ != nullptr) cancel_stream(true);
  answer_.reset();
  end_request();
}

void Exchange::end_request() {
  submitted_ = false;
  state_.loop.clear_timer(&timer_);
  if (std::exchange(counted_, false)) {
    state_.streams.fetch_sub(1, std::memory_order_relaxed);
    state_.streams_active.add(-1);
  }
  release_buffer();
}

bool Exchange::enter_stream() {
  const std::uint32_t limit = state_.config().limits.max_streams;
  if (state_.streams.fetch_add(1, std::memory_order_relaxed) >= limit && limit > 0) {
    state_.streams.fetch_sub(1, std::memory_order_relaxed);
    state_.families.http_limit_rejections.with({"streams"}).add();
    refuse_busy("too_many_streams", "As many streams run as this gateway allows", 1);
    return false;
  }
  counted_ = true;
  state_.streams_active.add(1);
  return true;
}

void Exchange::on_release() {
  if (!head_sent_) return;
  state_.families.router_buffers_released_early.add(static_cast<double>(buffer_->body.size()));
  release_buffer();
}

}  // namespace smg
