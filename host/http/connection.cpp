#include "host/http/connection.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "host/base/views.hpp"
#include "host/http/cors.hpp"
#include "host/http/event_stream.hpp"
#include "host/http/limits.hpp"
#include "host/http/local_routes.hpp"
#include "host/http/request_id.hpp"

namespace smg {
namespace {

http1::Limits request_limits(const Config& config) {
  http1::Limits limits;
  limits.max_head = kMaxHeadBytes;
  limits.max_body = config.server.max_payload_size;
  return limits;
}

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

Connection::Connection(ListenerLoop& env, int socket)
    : smg_watch{}, env_(env), exchange_(env.routing) {
  this->fd = socket;
  smg_watch::ready = Connection::ready;
  timer_.fired = timer_fired;
  timer_.owner = this;
  next_.run = next_request;
  next_.owner = this;
  destroy_.run = destroy;
  destroy_.owner = this;
  parser_.emplace(request_limits(env_.config));
}

Connection::~Connection() {
  if (this->fd >= 0) close(this->fd);
}

bool Connection::start() {
  if (!env_.loop.watch(this)) return false;
  env_.add(this);
  set_deadline(kIdleDeadline);
  return true;
}

void Connection::ready(smg_watch* watch, std::uint32_t events) {
  static_cast<Connection*>(watch)->on_ready(events);
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & SMG_READY_OUT) != 0 && !out_.empty()) flush_backlog();
  if ((events & SMG_READY_IN) != 0 && phase_ != Phase::closed) read();
  if ((events & SMG_READY_HANGUP) != 0 && phase_ != Phase::closed) client_gone();
}

void Connection::read() {
  const smg_buffer scratch = env_.loop.scratch();
  for (;;) {
    if (phase_ == Phase::closed) return;
    if (is_answering() && in_.size() >= kMaxPipelined) {
      unread_ = true;
      return;
    }
    const ssize_t count = recv(this->fd, scratch.data, scratch.size, 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) client_gone();
      unread_ = false;
      return;
    }
    if (count == 0) {
      client_gone();
      return;
    }
    const auto size = static_cast<std::size_t>(count);
    if (phase_ == Phase::lingering) {
      // read to keep the peer's bytes from resetting the connection, and dropped
    } else if (in_.empty() && !is_answering()) {
      const std::size_t used = parse(scratch.data, size);
      if (phase_ == Phase::closed) return;
      if (phase_ != Phase::lingering && used < size) {
        in_.append({scratch.data + used, size - used});
      }
    } else {
      // Bytes that wait for their request to begin stay in order behind those that wait already.
      in_.append({scratch.data, size});
      parse_pending();
    }
    if (size < scratch.size) {
      unread_ = false;
      return;
    }
  }
}

void Connection::parse_pending() {
  if (in_.empty() || is_answering() || phase_ == Phase::closed) return;
  // The bytes move aside: what parsing starts may release or extend in_.
  Bytes pending;
  pending.swap(in_);
  pending.consume(parse(pending.data(), pending.size()));
  if (phase_ == Phase::closed || phase_ == Phase::lingering || pending.empty()) return;
  pending.append(in_.view());
  in_.swap(pending);
}

std::size_t Connection::parse(const char* data, std::size_t size) {
  std::size_t used = 0;
  http1::RequestScratch& scratch = env_.scratch;
  while (!is_answering() && phase_ != Phase::closed && phase_ != Phase::lingering) {
    const http1::Step step = parser_->next(data + used, size - used, scratch);
    used += step.consumed;
    switch (step.kind) {
      case http1::StepKind::need_more:
        if (phase_ == Phase::idle && used < size) {
          phase_ = Phase::head;
          set_deadline(kHeadDeadline);
        } else if (phase_ == Phase::body) {
          set_deadline(kBodyStall);
        }
        return used;
      case http1::StepKind::head:
        begin_request(scratch.head);
        break;
      case http1::StepKind::body:
        if (exchanging_) exchange_.buffer().body.append(step.body);
        break;
      case http1::StepKind::complete:
        complete_request();
        break;
      case http1::StepKind::error:
        refuse(step.status, step.reason);
        return size;
    }
  }
  return used;
}

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
  if (!origin.empty()) append_cors_headers(cors_, env_.config.server.cors_allowed_origins, origin);
  choose_request_id(request_id_, head.fields, env_.config.server.request_id_headers, path,
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
           .extra_headers = preflight_headers(env_.config.server.cors_allowed_origins),
           .close = head.has_body()});
    return;
  }
  if (route_ == nullptr) {
    reply({.status = match.path_known ? 405u : 404u, .close = head.has_body()});
    return;
  }
  if (route_->action != Action::relay) {
    // Such a request has no use for a body; it is read and dropped.
    query_.assign(query == std::string_view::npos ? std::string_view{}
                                                  : head.target.substr(query + 1));
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
  exchange_.open(*this, *route_);
  exchanging_ = true;
  collect_headers(head);
  if (head.content_length > 0) {
    // A declared length is a hint only: memory is taken as bytes arrive.
    const auto hint = static_cast<std::size_t>(head.content_length);
    exchange_.buffer().body.reserve(std::min<std::size_t>(hint + kBodySlack, 1 << 20));
  }
  if (head.expect_continue && head.has_body()) write("HTTP/1.1 100 Continue\r\n\r\n");
}

void Connection::collect_headers(const http1::RequestHead& head) {
  RequestBuffer& buffer = exchange_.buffer();
  const bool all = (env_.routing.fleet().needs & (SMG_NEEDS_HEADERS | SMG_NEEDS_TOKENS)) != 0;
  for (const auto& field : head.fields) {
    if (is_forwarded(field.name) || is_request_id_extension(field.name)) {
      buffer.add_header(field.name, field.value, RequestBuffer::Use::forward);
    } else if (all) {
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
  switch (route_->action) {
    case Action::events:
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

void Connection::reply_text(std::uint32_t status, std::string_view text, bool close) {
  reply({.status = status,
         .content_type = "text/plain; charset=utf-8",
         .body = text,
         .close = close});
}

ReplyContext Connection::reply_context() {
  ReplyContext context;
  context.request_id = request_id_;
  context.cors = cors_;
  context.http10 = http10_;
  context.keep_alive = keep_alive_ && !draining_;
  context.head_only = head_only_;
  return context;
}

void Connection::count_head(std::uint32_t status, std::string_view error_code) {
  const double seconds = static_cast<double>(env_.loop.now() - started_) / 1e9;
  auto& families = env_.routing.families;
  if (route_ == nullptr) {
    families.http_responses.with({"other", std::to_string(status), error_code}).add();
    return;
  }
  auto& series = env_.series(*route_);
  series.duration.observe(seconds);
  if (!error_code.empty()) {
    families.http_responses.with({route_->path, std::to_string(status), error_code}).add();
    return;
  }
  Series& responses = series.responses[status % series.responses.size()];
  if (!responses)
    responses = families.http_responses.with({route_->path, std::to_string(status), ""});
  responses.add();
}

bool Connection::begin_response(const RelayedHead& head) {
  count_head(head.status, {});
  ReplyContext context = reply_context();
  env_.head.clear();
  framing_ = append_relayed_head(env_.head, head, context);
  keep_alive_ = context.keep_alive;
  // Only an answer with nothing unsent before it can be taken back as a whole.
  if (head.hold && out_.empty() && !env_.is_corked(this)) held_ = true;
  write(env_.head);
  return held_;
}

bool Connection::send_body(std::string_view data) {
  if (broken_) return true;
  if (framing_ == Framing::none || head_only_) return true;
  if (framing_ == Framing::chunked) {
    std::array<char, 20> line;
    std::size_t at = line.size();
    line[--at] = '\n';
    line[--at] = '\r';
    for (std::size_t size = data.size(); size > 0; size >>= 4) {
      line[--at] = "0123456789abcdef"[size & 15];
    }
    write({line.data() + at, line.size() - at});
    write(data);
    write("\r\n");
  } else {
    write(data);
  }
  return out_.size() < kHighWater;
}

void Connection::end_response() {
  exchanging_ = false;
  held_ = false;
  if (framing_ == Framing::chunked && !head_only_) write("0\r\n\r\n");
  if (!out_.empty()) flush_backlog();
  finish_request();
}

void Connection::release_response() {
  held_ = false;
  if (!out_.empty()) flush_backlog();
}

void Connection::take_back_response() {
  held_ = false;
  env_.forget(this);
  out_.release();
}

void Connection::cut_response() {
  exchanging_ = false;
  const linger reset{1, 0};
  setsockopt(this->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close_now();
}

void Connection::reply(const MadeReply& reply) {
  exchanging_ = false;
  count_head(reply.status, reply.error_code);
  ReplyContext context = reply_context();
  env_.head.clear();
  append_reply(env_.head, reply, context);
  keep_alive_ = context.keep_alive;
  const bool early = phase_ == Phase::body;
  replied_ = early;
  write(env_.head);
  if (early && !reply.close) return;  // no body is due: complete_request() ends it
  finish_request();
}

void Connection::write(std::string_view data) {
  if (broken_ || phase_ == Phase::closed) return;
  if (out_.empty()) {
    env_.cork(this, data);
  } else {
    out_.append(data);
  }
}

void Connection::flush_cork(std::string_view corked, std::string_view more) {
  if (broken_ || phase_ == Phase::closed) return;
  std::size_t sent = 0;
  if (!held_ && out_.empty()) {
    iovec parts[2] = {{const_cast<char*>(corked.data()), corked.size()},
                      {const_cast<char*>(more.data()), more.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = more.empty() ? 1 : 2;
    const ssize_t count = more.empty() ? send(this->fd, corked.data(), corked.size(), MSG_NOSIGNAL)
                                       : sendmsg(this->fd, &message, MSG_NOSIGNAL);
    if (count >= 0) {
      sent = static_cast<std::size_t>(count);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      // Not here and now: this may run below a call-back of another connection's worker.
      broken_ = true;
      go_on_later();
      return;
    }
  }
  if (sent < corked.size()) {
    out_.append(corked.substr(sent));
    sent = corked.size();
  }
  out_.append(more.substr(std::min(sent - corked.size(), more.size())));
}

void Connection::flush_backlog() {
  if (held_ || broken_) return;
  while (!out_.empty()) {
    const ssize_t count = send(this->fd, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      broken_ = true;
      go_on_later();
      return;
    }
    out_.consume(static_cast<std::size_t>(count));
  }
  if (out_.empty()) out_.release();
  if (out_.size() <= kLowWater && exchanging_) exchange_.client_drained();
  if (out_.empty() && phase_ == Phase::idle && !keep_alive_) linger_and_close();
}

void Connection::finish_request() {
  if (!in_request_) return;
  in_request_ = false;
  env_.shared.busy.fetch_sub(1, std::memory_order_relaxed);
  env_.routing.families.http_connections_active.add(-1);
  phase_ = Phase::idle;
  if (!keep_alive_) {
    if (env_.is_corked(this)) env_.uncork();
    if (out_.empty()) {
      linger_and_close();
    } else {
      set_deadline(kBodyStall);
    }
    return;
  }
  parser_.emplace(request_limits(env_.config));
  set_deadline(kIdleDeadline);
  if (!in_.empty() || unread_) go_on_later();
}

void Connection::go_on_later() {
  if (next_queued_) return;
  next_queued_ = true;
  env_.loop.defer(&next_);
}

void Connection::next_request(smg_task* task) {
  auto* self = static_cast<Task*>(task)->owner;
  self->next_queued_ = false;
  if (self->phase_ == Phase::closed) return;
  if (self->broken_) {
    self->client_gone();
    return;
  }
  self->parse_pending();
  if (self->unread_ && self->phase_ != Phase::closed) self->read();
}

void Connection::linger_and_close() {
  // A client that still sends would lose our answer to a reset: stop sending, read a while, then
  // close.
  phase_ = Phase::lingering;
  in_.release();
  shutdown(this->fd, SHUT_WR);
  set_deadline(kLingerTime);
}

void Connection::client_gone() {
  if (!broken_ && env_.is_corked(this) && !held_) env_.uncork();
  if (!broken_ && !in_request_ && !out_.empty()) {
    // A client that has closed its side may still read the answer that is on its way.
    keep_alive_ = false;
    return;
  }
  close_now();
}

void Connection::drain() {
  draining_ = true;
  if (events_ != nullptr || (!in_request_ && phase_ != Phase::lingering && out_.empty()))
    close_now();
}

void Connection::close_now() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  env_.forget(this);
  if (events_ != nullptr) {
    events_->detach();
    events_ = nullptr;
  }
  if (exchanging_) {
    exchanging_ = false;
    exchange_.abort();
  }
  if (in_request_) {
    in_request_ = false;
    env_.shared.busy.fetch_sub(1, std::memory_order_relaxed);
    env_.routing.families.http_connections_active.add(-1);
  }
  env_.loop.clear_timer(&timer_);
  env_.loop.unwatch(this);
  close(this->fd);
  this->fd = -1;
  env_.remove(this);
  env_.loop.defer(&destroy_);
}

void Connection::destroy(smg_task* task) {
  delete static_cast<Task*>(task)->owner;
}

void Connection::set_deadline(std::uint64_t after) {
  env_.loop.set_timer(&timer_, env_.loop.now() + after);
}

void Connection::timer_fired(smg_timer* timer) {
  auto* self = static_cast<Timer*>(timer)->owner;
  if (self->phase_ == Phase::head || self->phase_ == Phase::body) {
    self->refuse(408, "the request did not arrive in time");
    return;
  }
  self->close_now();
}

}  // namespace smg
