#include "host/http/connection.hpp"

#include <unistd.h>

#include <utility>

#include "host/config/duration.hpp"
#include "host/http/admin_call.hpp"
#include "host/http/event_stream.hpp"
#include "host/http/limits.hpp"

namespace smg {
namespace {

http1::Limits request_limits(const Config& config) {
  http1::Limits limits;
  limits.max_head = kMaxHeadBytes;
  limits.max_body = config.server.max_payload_size;
  return limits;
}

}  // namespace

Connection::Connection(ListenerLoop& env, int socket, std::string_view peer, bool excess)
    : smg_watch{},
      env_(env),
      channel_(socket, env.shared.tls),
      exchange_(env.routing),
      peer_(peer),
      excess_(excess) {
  this->fd = socket;
  smg_watch::ready = Connection::ready;
  timer_.fired = timer_fired;
  timer_.owner = this;
  next_.run = next_request;
  next_.owner = this;
  destroy_.run = destroy;
  destroy_.owner = this;
  parser_.emplace(request_limits(env_.config()));
}

Connection::~Connection() {
  if (this->fd >= 0) close(this->fd);
}

bool Connection::start() {
  if (!env_.loop.watch(this)) return false;
  env_.add(this);
  if (excess_) {
    env_.loop.set_timer(&timer_, env_.loop.now() + kExcessDeadline);
  } else {
    set_deadline(env_.config().limits.header_timeout_secs);
  }
  return true;
}

void Connection::config_changed() {
  if (phase_ == Phase::idle) parser_.emplace(request_limits(env_.config()));
}

void Connection::ready(smg_watch* watch, std::uint32_t events) {
  static_cast<Connection*>(watch)->on_ready(events);
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & SMG_READY_OUT) != 0) {
    if (!out_.empty()) flush_backlog();
    if (phase_ == Phase::lingering) channel_.shutdown_write();
    if (phase_ != Phase::closed && channel_.read_wants_room()) read();
  }
  if ((events & SMG_READY_IN) != 0 && phase_ != Phase::closed) read();
  if ((events & SMG_READY_HANGUP) != 0 && phase_ != Phase::closed) client_gone();
}

void Connection::read() {
  const smg_buffer scratch = env_.loop.scratch();
  for (;;) {
    if (phase_ == Phase::closed) return;
    if (phase_ == Phase::parked) {
      unread_ = true;
      return;
    }
    if (in_.size() >= kMaxPipelined) {
      if (is_answering()) {
        close_now();
      } else {
        unread_ = true;  // it does not read its answers: it may wait
      }
      return;
    }
    const Channel::Outcome got = channel_.read(scratch.data, scratch.size);
    if (got.state != Channel::State::moved) {
      unread_ = false;
      if (got.state == Channel::State::plain_http) {
        refuse(400, "this port speaks HTTPS: begin the URL with https://");
      } else if (got.state != Channel::State::blocked) {
        client_gone();
      }
      return;
    }
    const std::size_t size = got.bytes;
    if (phase_ == Phase::lingering) {
      // read to keep the peer's bytes from resetting the connection, and dropped
    } else if (in_.empty() && !must_wait()) {
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
    if (got.drained) {
      unread_ = false;
      return;
    }
  }
}

void Connection::parse_pending() {
  // Without a byte more the end of a request that has no body is still to be seen.
  if ((in_.empty() && phase_ != Phase::body) || must_wait() || phase_ == Phase::closed) return;
  // The bytes move aside: what parsing starts may release or extend in_.
  Bytes pending;
  pending.swap(in_);
  pending.consume(parse(pending.empty() ? "" : pending.data(), pending.size()));
  if (phase_ == Phase::closed || phase_ == Phase::lingering || pending.empty()) return;
  pending.append(in_.view());
  in_.swap(pending);
}

bool Connection::must_wait() const {
  return is_answering() || phase_ == Phase::parked ||
         (phase_ == Phase::idle && out_.size() >= kHighWater);
}

std::size_t Connection::parse(const char* data, std::size_t size) {
  std::size_t used = 0;
  http1::RequestScratch& scratch = env_.scratch;
  while (!must_wait() && phase_ != Phase::closed && phase_ != Phase::lingering) {
    const http1::Step step = parser_->next(data + used, size - used, scratch);
    used += step.consumed;
    switch (step.kind) {
      case http1::StepKind::need_more:
        if (phase_ == Phase::idle && used < size) {
          phase_ = Phase::head;
          if (!excess_) set_deadline(env_.config().limits.header_timeout_secs);
        }
        return used;
      case http1::StepKind::head:
        begin_request(scratch.head);
        break;
      case http1::StepKind::body:
        take_body_bytes(step.body);
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

void Connection::finish_request() {
  if (!in_request_) return;
  leave_request(refused_ ? AccessEnd::refused : AccessEnd::complete);
  if (ticket_ != nullptr) ticket_->leave(env_.loop.now());
  phase_ = Phase::idle;
  if (!keep_alive_) {
    if (env_.is_corked(this)) env_.uncork();
    if (out_.empty()) {
      linger_and_close();
    } else {
      watch_backlog();
    }
    return;
  }
  parser_.emplace(request_limits(env_.config()));
  watch_backlog();
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
  channel_.shutdown_write();
  env_.loop.set_timer(&timer_, env_.loop.now() + kLingerTime);
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

void Connection::end_events() {
  if (events_ != nullptr) cut_off();
}

void Connection::drain() {
  draining_ = true;
  const auto idle = [&] { return phase_ == Phase::idle && !in_request_ && out_.empty(); };
  // A request that has arrived is answered: whoever sent it could not know.
  if (idle()) read();
  if (phase_ == Phase::closed) return;
  if (events_ != nullptr || (idle() && !env_.is_corked(this))) close_now();
}

void Connection::cut_off() {
  cut_ = true;
  close_now();
}

void Connection::close_now() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  if (relaying_ || !out_.empty()) {
    reset_on_close();
  } else {
    channel_.say_goodbye();
  }
  env_.forget(this);
  if (events_ != nullptr) {
    events_->detach();
    events_ = nullptr;
  }
  if (admin_ != nullptr) {
    admin_->detach();
    admin_.reset();
  }
  if (exchanging_) {
    exchanging_ = false;
    exchange_.abort();
  }
  if (ticket_ != nullptr) std::exchange(ticket_, nullptr)->abandon(env_.loop.now());
  ControlPlane::forget(verdict_);
  if (in_request_) {
    // After an early answer only the rest of a body was waited for.
    leave_request(replied_ ? (refused_ ? AccessEnd::refused : AccessEnd::complete)
                  : cut_   ? AccessEnd::cut
                           : AccessEnd::client_gone);
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

void Connection::set_deadline(std::uint64_t seconds) {
  env_.loop.set_timer(&timer_, env_.loop.now() + seconds_to_ns(seconds));
}

void Connection::count_limit(std::string_view limit) {
  env_.routing.families.http_limit_rejections.with({limit}).add();
}

void Connection::timer_fired(smg_timer* timer) {
  auto* self = static_cast<Timer*>(timer)->owner;
  switch (self->phase_) {
    case Phase::head:
      self->count_limit("header_timeout");
      return self->refuse(408, "the request did not arrive in time");
    case Phase::body:
      self->count_limit("body_timeout");
      if (self->replied_) return self->close_now();  // it was only to be dropped
      return self->refuse(408, "the request did not arrive in time");
    case Phase::parked:
      return self->waited_long_enough();
    case Phase::idle:
    case Phase::answering:
      if (!self->out_.empty()) self->count_limit("write_timeout");
      if (self->channel_.handshaking()) self->count_limit("header_timeout");
      return self->cut_off();
    default:
      return self->close_now();
  }
}

}  // namespace smg
