// The way out: replies of the gateway's own, relayed answers, and how their bytes reach the socket.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "host/access_log.hpp"
#include "host/http/connection.hpp"
#include "host/http/limits.hpp"

namespace smg {

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

void Connection::begin_record(std::uint32_t status, std::string_view worker,
                              std::string_view error) {
  status_ = status;
  head_at_ = env_.loop.now();
  body_sent_ = 0;
  worker_.assign(worker);
  error_ = error;
}

void Connection::record(AccessEnd end) {
  if (!env_.config().log.access) return;
  const std::uint64_t now = env_.loop.now();
  env_.shared.access_log.lane(env_.loop.index())
      .record({.request_id = request_id_,
               .client = peer_,
               .method = method_,
               .path = path_,
               .status = status_,
               .bytes_sent = body_sent_,
               .duration = now - started_,
               .first_byte = status_ == 0 ? 0 : head_at_ - started_,
               .worker = worker_,
               .model = exchange_.model(),
               .tenant = tenant_,
               .error_code = error_,
               .end = end});
}

bool Connection::begin_response(const RelayedHead& head) {
  ReplyContext context = reply_context();
  env_.head.clear();
  framing_ = append_relayed_head(env_.head, head, context);
  begin_record(head.status, head.worker_url, {});
  keep_alive_ = context.keep_alive;
  // Only an answer with nothing unsent before it can be taken back as a whole.
  if (head.hold && out_.empty() && !env_.is_corked(this)) held_ = true;
  held_status_ = head.status;
  if (!held_) count_head(head.status, {});
  relaying_ = true;
  write(env_.head);
  return held_;
}

bool Connection::send_body(std::string_view data) {
  if (broken_) return true;
  if (!data_begun_) {
    // preempted() is on its way, and may find that the worker was quicker.
    if (ticket_ != nullptr && !ticket_->begin_data()) making_room_ = true;
    if (making_room_) return false;
    data_begun_ = true;
  }
  body_sent_ += data.size();
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
  if (making_room_) return make_room();
  relaying_ = false;
  if (std::exchange(held_, false)) count_head(held_status_, {});
  if (framing_ == Framing::chunked && !head_only_) write("0\r\n\r\n");
  if (!out_.empty()) flush_backlog();
  finish_request();
}

void Connection::release_response() {
  if (making_room_) return;
  if (std::exchange(held_, false)) count_head(held_status_, {});
  if (!out_.empty()) flush_backlog();
  if (!out_.empty()) watch_backlog();
}

void Connection::watch_backlog() {
  const Limits& limits = env_.config().limits;
  if (!out_.empty() && !held_ && limits.write_timeout_secs > 0) {
    set_deadline(limits.write_timeout_secs);
  } else if (phase_ == Phase::idle) {
    set_deadline(limits.idle_timeout_secs);
  } else if (phase_ == Phase::answering) {
    env_.loop.clear_timer(&timer_);
  }
}

void Connection::take_back_response() {
  begin_record(0, {}, {});
  held_ = false;
  relaying_ = false;
  env_.forget(this);
  out_.release();
}

void Connection::cut_response() {
  cut_ = true;
  exchanging_ = false;
  close_now();
}

// What has no end must not look as if it had one.
void Connection::reset_on_close() {
  const linger reset{1, 0};
  setsockopt(this->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

void Connection::reply(const MadeReply& reply) {
  exchanging_ = false;
  const std::shared_ptr<AdminCall> answered = std::move(admin_);  // the reply may be a part of it
  count_head(reply.status, reply.error_code);
  begin_record(reply.status, reply.worker_url, reply.error_code);
  body_sent_ = head_only_ ? 0 : reply.body.size();
  ReplyContext context = reply_context();
  env_.head.clear();
  append_reply(env_.head, reply, context);
  keep_alive_ = context.keep_alive;
  const bool early = phase_ == Phase::body;
  replied_ = early;
  write(env_.head);
  if (early && !reply.close) {
    // What is still to come of the body is dropped; complete_request() ends the request then.
    if (ticket_ != nullptr) ticket_->leave(env_.loop.now());
    return;
  }
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
    const Channel::Outcome taken = channel_.write(corked, more);
    if (taken.state == Channel::State::failed) {
      // Not here and now: this may run below a call-back of another connection's worker.
      broken_ = true;
      go_on_later();
      return;
    }
    sent = taken.bytes;
  }
  const bool first = out_.empty();
  if (sent < corked.size()) {
    out_.append(corked.substr(sent));
    sent = corked.size();
  }
  out_.append(more.substr(std::min(sent - corked.size(), more.size())));
  if (first && !out_.empty()) watch_backlog();
}

void Connection::flush_backlog() {
  if (held_ || broken_) return;
  bool progress = false;
  while (!out_.empty()) {
    const Channel::Outcome taken = channel_.write(out_.view());
    if (taken.state == Channel::State::failed) {
      broken_ = true;
      go_on_later();
      return;
    }
    if (taken.state != Channel::State::moved) break;
    out_.consume(taken.bytes);
    progress = true;
  }
  if (progress) watch_backlog();
  if (out_.empty()) out_.release();
  if (out_.size() <= kLowWater && exchanging_) exchange_.client_drained();
  if (phase_ != Phase::idle) return;
  if (out_.empty() && !keep_alive_) {
    linger_and_close();
  } else if (out_.size() <= kLowWater && (!in_.empty() || unread_)) {
    go_on_later();
  }
}

}  // namespace smg
