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

bool is_request_id_extension(std::string_view name) {
  return name.size() > 13 && equals_ignoring_case(name.substr(0, 13), "x-request-id-");
}

}  // namespace

void Connection::begin_request(const http1::RequestHead& head) {
  phase_ = Phase::body;
  in_request_ = true;
  env_.shared.busy.fetch_add(1, std::memory_order_relaxed);
  env_.routing.families.http_connections_active.add(1);
  started_ = env_.loop.now();
  http10_ = head.http10;
  keep_alive_ = head.keep_alive && !draining_;
  head_only_ = head.method == "HEAD";
  chunked_body_ = head.chunked;
  cors_.clear();
  replied_ = false;
  const std::size_t query = head.target.find('?');
  const std::string_view path = head.target.substr(0, query);
  const RouteMatch match = find_route(head.method, path);
  route_ = match.route;
  request_id_.clear();
  std::string_view content_type;
  std::string_view origin;
  bool preflight = false;
  for (const auto& field : head.fields) {
    if (equals_ignoring_case(field.name, "origin")) origin = field.value;
    if (equals_ignoring_case(field.name, "content-type")) content_type = field.value;
    if (equals_ignoring_case(field.name, "access-control-request-method")) preflight = true;
  }
  if (!origin.empty())
    append_cors_headers(cors_, env_.config().server.cors_allowed_origins, origin);
  choose_request_id(request_id_, head.fields, env_.config().server.request_id_headers, path,
                    env_.routing.random);
  if (route_ != nullptr && head.method == route_->method) {
    env_.series(*route_).requests.add();
  } else {
    env_.routing.families.http_requests
        .with({head.method, route_ == nullptr ? std::string_view("other") : route_->path})
        .add();
  }
  if (head.method == "OPTIONS" && !origin.empty() && preflight) {
    reply({.status = 200,
           .extra_headers = preflight_headers(env_.config().server.cors_allowed_origins),
           .close = head.has_body()});
    return;
  }
  if (route_ == nullptr) {
    reply({.status = match.path_known ? 405u : 404u, .close = head.has_body()});
    return;
  }
  if (route_->action != Action::relay && route_->rules == BodyRules::none) {
    // Such a request has no use for a body; it is read and dropped.
    const std::string_view text =
        query == std::string_view::npos ? std::string_view{} : head.target.substr(query + 1);
    if (is_admin(route_->action)) {
      admin_ = std::make_shared<AdminCall>(*this, env_, *route_, match.id, text);
    } else {
      query_.assign(text);
    }
    return;
  }
  const Extractor extractor =
      route_->rules == BodyRules::plain ? Extractor::plain : Extractor::validated;
  if (const BodyError error = check_content_type(extractor, content_type)) {
    const std::string body = error.body();
    reply({.status = error.status(),
           .content_type = error.content_type(),
           .body = body,
           .close = head.has_body()});
    return;
  }
  if (head.expect_continue && head.has_body()) write("HTTP/1.1 100 Continue\r\n\r\n");
  if (is_admin(route_->action)) {
    admin_ = std::make_shared<AdminCall>(*this, env_, *route_, match.id, std::string_view{});
    return;
  }
  exchange_.open(*this, *route_);
  exchanging_ = true;
  collect_headers(head);
  if (head.content_length > 0) {
    // A declared length is a hint only: memory is taken as bytes arrive.
    const auto hint = static_cast<std::size_t>(head.content_length);
    exchange_.buffer().body.reserve(std::min<std::size_t>(hint + kBodySlack, 1 << 20));
  }
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
    in_request_ = true;
    env_.shared.busy.fetch_add(1, std::memory_order_relaxed);
    env_.routing.families.http_connections_active.add(1);
    started_ = env_.loop.now();
    route_ = nullptr;
    head_only_ = false;
    request_id_.clear();
    env_.routing.families.http_requests.with({"OTHER", "other"}).add();
  }
  if (exchanging_) {
    exchanging_ = false;
    exchange_.discard();
  }
  // A body that outgrows the limit without having been announced is a malformed body to a
  // validating endpoint.
  if (status == 413 && route_ != nullptr && route_->rules == BodyRules::validated &&
      chunked_body_) {
    status = 400;
  }
  reply_text(status, reason, true);
}

}  // namespace smg
