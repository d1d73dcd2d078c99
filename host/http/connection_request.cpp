// A request as its pieces arrive: which route it takes, what is kept of its head, when it is
// refused.
#include <algorithm>

#include "host/base/views.hpp"
#include "host/http/admin_call.hpp"
#include "host/http/connection.hpp"
#include "host/http/cors.hpp"
#include "host/http/event_stream.hpp"
#include "host/http/limits.hpp"
#include "host/http/local_routes.hpp"
#include "host/http/request_id.hpp"

namespace smg {
namespace {

// What a worker gets to see of a client's head.
bool is_forwarded(std::string_view name) {
  const auto is = [&](std::string_view other) { return equals_ignoring_case(name, other); };
  switch (name.size()) {
    case 10:
      return is("tracestate");
    case 11:
      return is("traceparent");
    case 12:
      return is("x-request-id");
    case 13:
      return is("authorization");
    case 16:
      return is("x-correlation-id");
    case 17:
      return is("x-smg-routing-key");
    default:
      return false;
  }
}

constexpr std::string_view kAdminBodyTooLarge =
    "the body of such a request may have 1048576 bytes at most";

bool is_request_id_extension(std::string_view name) {
  return name.size() > 13 && equals_ignoring_case(name.substr(0, 13), "x-request-id-");
}

}  // namespace

// Nothing of the last request is left over.
void Connection::enter_request() {
  in_request_ = true;
  env_.shared.busy.fetch_add(1, std::memory_order_relaxed);
  env_.routing.families.http_connections_active.add(1);
  started_ = env_.loop.now();
  route_ = nullptr;
  head_only_ = replied_ = data_begun_ = making_room_ = refused_ = cut_ = false;
  begin_record(0, {}, {});
  exchange_.forget_model();
  request_id_.clear();
  cors_.clear();
  method_.clear();
  path_.clear();
  tenant_.clear();
}

void Connection::leave_request(AccessEnd end) {
  in_request_ = false;
  record(end);
  env_.shared.busy.fetch_sub(1, std::memory_order_relaxed);
  env_.routing.families.http_connections_active.add(-1);
}

void Connection::begin_request(const http1::RequestHead& head) {
  phase_ = Phase::body;
  enter_request();
  http10_ = head.http10;
  keep_alive_ = head.keep_alive && !draining_ && !excess_ &&
                !env_.shared.draining.load(std::memory_order_relaxed);
  head_only_ = head.method == "HEAD";
  chunked_body_ = head.chunked;
  expects_continue_ = head.expect_continue && head.has_body();
  announced_ = head.content_length > 0 ? static_cast<std::uint64_t>(head.content_length) : 0;
  discardable_ = !head.chunked && !expects_continue_ && announced_ <= kDiscardedBody;
  method_.assign(head.method);
  HeadFacts facts;
  note_head(head, facts);
  const RouteMatch match = find_route(head.method, facts.path);
  route_ = match.route;
  facts.id = match.id;
  if (route_ != nullptr && head.method == route_->method) {
    env_.series(*route_).requests.add();
  } else {
    env_.routing.families.http_requests
        .with({head.method, route_ == nullptr ? std::string_view("other") : route_->path})
        .add();
  }
  set_deadline(env_.config().limits.body_timeout_secs);
  if (head.method == "OPTIONS" && !facts.origin.empty() && facts.preflight) {
    reply({.status = 200,
           .extra_headers = preflight_headers(env_.config().server.cors_allowed_origins),
           .close = !discardable_});
    return;
  }
  if (route_ == nullptr) {
    reply({.status = match.path_known ? 405u : 404u, .close = !discardable_});
    return;
  }
  const Gate gate = pass_gates(head, facts);
  if (gate == Gate::refused) return;
  open_request(head, facts);
  if (gate == Gate::open) {
    take_body();
  } else {
    park();
  }
}

void Connection::note_head(const http1::RequestHead& head, HeadFacts& facts) {
  const std::size_t query = head.target.find('?');
  facts.path = head.target.substr(0, query);
  if (query != std::string_view::npos) facts.query = head.target.substr(query + 1);
  path_.assign(facts.path);
  const Config& config = env_.config();
  bool authorized = false;
  for (const auto& field : head.fields) {
    const auto is = [&](std::string_view name) { return equals_ignoring_case(field.name, name); };
    if (is("origin")) facts.origin = field.value;
    if (is("content-type")) facts.content_type = field.value;
    if (is("access-control-request-method")) facts.preflight = true;
    if (is("x-smg-priority")) facts.priority = field.value;
    if (is(config.auth.tenant_header_name)) facts.tenant = field.value;
    if (is("authorization")) {
      // Two of them are one too many: it is not clear who asks.
      facts.authorization = authorized ? std::string_view{} : field.value;
      authorized = true;
    }
  }
  if (!facts.origin.empty())
    append_cors_headers(cors_, config.server.cors_allowed_origins, facts.origin);
  choose_request_id(request_id_, head.fields, config.server.request_id_headers, facts.path,
                    env_.routing.random);
}

// Keeps what is needed of the head, which is gone when the body comes.
void Connection::open_request(const http1::RequestHead& head, const HeadFacts& facts) {
  content_error_ = {};
  if (route_->rules != BodyRules::none) {
    content_error_ = check_content_type(
        route_->rules == BodyRules::plain ? Extractor::plain : Extractor::validated,
        facts.content_type);
  }
  if (is_admin(route_->action)) {
    // Where no body is looked for, it is read and dropped.
    admin_ = std::make_shared<AdminCall>(*this, env_, *route_, facts.id, facts.query);
  } else if (route_->action == Action::relay) {
    exchange_.open(*this, *route_);
    exchanging_ = true;
    collect_headers(head);
  } else {
    query_.assign(facts.query);
  }
}

void Connection::take_body() {
  body_progress_ = 0;
  if (content_error_) {
    drop_request();
    const std::string body = content_error_.body();
    reply({.status = content_error_.status(),
           .content_type = content_error_.content_type(),
           .body = body,
           .close = !discardable_});
    return;
  }
  if (admin_ != nullptr && announced_ > kMaxAdminBody) return refuse(413, kAdminBodyTooLarge);
  if (expects_continue_ && route_->rules != BodyRules::none) {
    write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (exchanging_ && announced_ > 0) {
    // A declared length is a hint only: memory is taken as bytes arrive.
    exchange_.buffer().body.reserve(
        std::min<std::size_t>(static_cast<std::size_t>(announced_) + kBodySlack, kTrustedLength));
  }
}

void Connection::take_body_bytes(std::string_view bytes) {
  body_progress_ += bytes.size();
  if (body_progress_ >= kMinBodyProgress) {
    body_progress_ = 0;
    set_deadline(env_.config().limits.body_timeout_secs);
  }
  if (exchanging_) exchange_.buffer().body.append(bytes);
  if (admin_ != nullptr && route_->rules != BodyRules::none && !admin_->add_body(bytes)) {
    refuse(413, kAdminBodyTooLarge);
  }
}

// Forgets what was kept for a request that ends here.
void Connection::drop_request() {
  if (exchanging_) {
    exchanging_ = false;
    exchange_.discard();
  }
  admin_.reset();
}

void Connection::collect_headers(const http1::RequestHead& head) {
  RequestBuffer& buffer = exchange_.buffer();
  const auto& key_headers = env_.config().routing_key_override.headers;
  const auto brings_key = [&](std::string_view name) {
    return std::any_of(key_headers.begin(), key_headers.end(), [&](const std::string& header) {
      return equals_ignoring_case(header, name);
    });
  };
  const bool all = (env_.routing.fleet().needs & (SMG_NEEDS_HEADERS | SMG_NEEDS_TOKENS)) != 0;
  for (const auto& field : head.fields) {
    if (is_forwarded(field.name) || is_request_id_extension(field.name)) {
      buffer.add_header(field.name, field.value, RequestBuffer::Use::forward);
    } else if (all || brings_key(field.name)) {
      buffer.add_header(field.name, field.value, RequestBuffer::Use::routing);
    }
  }
  buffer.seal_headers();
}

void Connection::complete_request() {
  if (replied_) {
    finish_request();
    return;
  }
  phase_ = Phase::answering;
  env_.loop.clear_timer(&timer_);
  if (exchanging_) {
    exchange_.submit(request_id_);
    return;
  }
  if (admin_ != nullptr) {
    admin_->submit();
    return;
  }
  switch (route_->action) {
    case Action::events:
      if (head_only_) {
        reply({.status = 200, .content_type = "text/event-stream"});
        return;
      }
      events_ = EventStream::open(*this, env_, query_);
      if (events_ == nullptr) return;
      break;
    default:
      answer_locally(*this, *route_, env_);
      break;
  }
}

void Connection::refuse(std::uint32_t status, std::string_view reason) {
  if (!in_request_) {
    enter_request();
    choose_request_id(request_id_, {}, {}, {}, env_.routing.random);
    env_.routing.families.http_requests.with({"OTHER", "other"}).add();
  }
  drop_request();
  refused_ = true;
  // A body that outgrows the limit without having been announced is a malformed body to a
  // validating endpoint.
  if (status == 413 && route_ != nullptr && route_->rules == BodyRules::validated &&
      chunked_body_) {
    status = 400;
  }
  reply_text(status, reason, true);
}

}  // namespace smg
