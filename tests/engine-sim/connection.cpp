#include "connection.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

namespace smg::sim {

namespace {

std::array<char, 128 * 1024> scratch;

constexpr std::int64_t kLingerMs = 2000;
constexpr std::size_t kPacedSendsPerTurn = 512;

}  // namespace

Connection::Connection(Loop& loop, Socket socket, Service& service, std::uint64_t id)
    : loop_(loop),
      socket_(std::move(socket)),
      service_(service),
      id_(id),
      timer_(loop.timers(), &Connection::timer_fired, this) {}

void Connection::start() {
  loop_.watch(socket_.fd(), *this, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
  watch_idle();
}

void Connection::ready(std::uint32_t events) {
  if (closed_) return;
  // A TLS record may have to be read before one can be written, and the other way around.
  if ((events & EPOLLOUT) != 0 || socket_.tls()) flush();
  if (closed_) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 || socket_.tls()) read(events);
}

void Connection::read(std::uint32_t events) {
  const bool hung_up = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  while (!closed_) {
    if (!reading_ || ahead_.size() > kMaxAhead) {
      if (hung_up) peer_gone((events & EPOLLERR) != 0 ? AbortKind::Reset : AbortKind::Closed);
      return;
    }
    const IoResult result = socket_.receive(scratch.data(), scratch.size());
    if (result.kind == IoResult::Kind::WouldBlock) return;
    if (result.kind != IoResult::Kind::Done) {
      peer_gone(result.kind == IoResult::Kind::End ? AbortKind::Closed : AbortKind::Reset);
      return;
    }
    consume({scratch.data(), result.bytes});
    if (result.bytes < scratch.size() && !hung_up && !socket_.tls()) return;
  }
}

void Connection::consume(std::string_view input) {
  if (discarding_) return;
  if (replying_ || !ahead_.empty()) {
    ahead_.append(input);
    if (replying_) return;
    const std::string held = std::move(ahead_);
    ahead_.clear();
    std::string_view rest = held;
    process(rest);
    if (!closed_) ahead_.insert(0, rest);
    return;
  }
  process(input);
  if (!closed_) ahead_.append(input);
}

void Connection::process(std::string_view& input) {
  processing_ = true;
  while (!closed_ && !replying_ && !discarding_ && reading_ && !input.empty()) {
    timer_.cancel();
    RequestReader::Event event = reader_.feed(input);
    if (event == RequestReader::Event::Head) {
      service_.head_read(*this);
      if (closed_ || discarding_ || !reading_) break;
      event = reader_.feed(input);
    }
    if (event == RequestReader::Event::Complete) {
      replying_ = true;
      service_.request_read(*this);
    } else if (event == RequestReader::Event::Error) {
      service_.request_refused(*this, reader_.error());
      end_early(false);
    }
  }
  if (discarding_) input = {};
  processing_ = false;
}

void Connection::send(std::string_view bytes) {
  if (closed_) return;
  if (out_begin_ == out_.size() && (effects == nullptr || !effects->paces_writes())) {
    std::size_t sent = 0;
    if (!send_some(bytes, sent)) return;
    bytes.remove_prefix(sent);
    if (bytes.empty()) return;
  }
  out_.append(bytes);
  if (effects != nullptr && effects->paces_writes() && !timer_.armed()) flush_paced();
}

bool Connection::send_some(std::string_view bytes, std::size_t& sent) {
  sent = 0;
  while (sent < bytes.size()) {
    const IoResult result = socket_.send(bytes.substr(sent));
    if (result.kind == IoResult::Kind::WouldBlock) break;
    if (result.kind != IoResult::Kind::Done) {
      peer_gone(AbortKind::Reset);
      return false;
    }
    sent += result.bytes;
    bytes_sent_ += result.bytes;
  }
  return true;
}

void Connection::flush() {
  if (effects != nullptr && effects->paces_writes()) {
    if (!timer_.armed()) flush_paced();
    return;
  }
  std::size_t refilled = 0;
  while (!closed_) {
    if (out_begin_ < out_.size()) {
      std::size_t sent = 0;
      if (!send_some(std::string_view(out_).substr(out_begin_), sent)) return;
      out_begin_ += sent;
      if (out_begin_ < out_.size()) return;
    }
    out_.clear();
    out_begin_ = 0;
    if (!replying_) return;
    if (reply_ended_) return drained();
    if (exchange_ == nullptr) return;
    if (refilled >= kRefillPerTurn) {
      timer_.arm(loop_.now_ms());
      return;
    }
    exchange_->refill(out_);
    refilled += out_.size();
    if (out_.empty() && !reply_ended_) {
      if (out_.capacity() > kMaxAhead) out_ = std::string();
      return;
    }
  }
}

void Connection::flush_paced() {
  for (std::size_t i = 0; i < kPacedSendsPerTurn && !closed_; ++i) {
    if (effects == nullptr) return flush();  // the answer has ended, the next one is not paced
    if (out_begin_ == out_.size()) {
      out_.clear();
      out_begin_ = 0;
      if (!replying_) return;
      if (reply_ended_) return drained();
      if (exchange_ != nullptr) exchange_->refill(out_);
      if (out_.empty() && !reply_ended_) return;
      continue;
    }
    std::size_t sent = 0;
    if (!send_some(std::string_view(out_).substr(out_begin_, effects->write_bytes), sent)) return;
    out_begin_ += sent;
    if (sent == 0) return;
    if (effects->write_interval_ms > 0) {
      timer_.arm(loop_.now_ms() + effects->write_interval_ms);
      return;
    }
  }
  if (!closed_) timer_.arm(loop_.now_ms());
}

void Connection::set_exchange(std::unique_ptr<Exchange> exchange) {
  if (exchange_ != nullptr) {
    exchange_->stop();
    loop_.retire(std::move(exchange_));
  }
  exchange_ = std::move(exchange);
}

void Connection::end_reply(bool keep_alive) {
  if (closed_) return;
  reply_ended_ = true;
  after_ = keep_alive ? After::Next : After::Close;
  if (out_begin_ == out_.size()) drained();
}

void Connection::cut(bool reset) {
  if (closed_) return;
  set_exchange(nullptr);
  reply_ended_ = true;
  after_ = reset ? After::Reset : After::Close;
  if (out_begin_ == out_.size()) drained();
}

void Connection::end_early(bool abrupt) {
  if (closed_) return;
  replying_ = true;
  reply_ended_ = true;
  discarding_ = true;
  ahead_.clear();
  after_ = abrupt ? After::Close : After::Linger;
  if (out_begin_ == out_.size()) drained();
}

void Connection::drained() {
  service_.reply_sent(*this);
  switch (after_) {
    case After::Next:
      return next_request();
    case After::Close:
    case After::Reset:
      return close(after_ == After::Reset);
    case After::Linger:
      // A close with unread bytes in the socket would send a reset, and the peer could lose the
      // answer.
      replying_ = false;
      socket_.shut_down_sending();
      timer_.arm(loop_.now_ms() + kLingerMs);
      return;
  }
}

void Connection::next_request() {
  set_exchange(nullptr);
  effects.reset();
  journal_entry = 0;
  reader_.reset();
  replying_ = false;
  reply_ended_ = false;
  ++request_index_;
  timer_.cancel();
  if (out_.capacity() > kMaxAhead) out_ = std::string();
  if (processing_) return;  // the caller goes on with what it has
  if (!ahead_.empty()) {
    consume({});
    if (!closed_ && !replying_) read(0);
  } else {
    watch_idle();
  }
}

void Connection::set_idle_limit(std::int64_t after_ms) {
  idle_limit_ms_ = after_ms;
  if (!replying_ && !reader_.in_request() && !discarding_) {
    timer_.cancel();
    watch_idle();
  }
}

void Connection::watch_idle() {
  if (!closed_ && idle_limit_ms_ >= 0) timer_.arm(loop_.now_ms() + idle_limit_ms_);
}

void Connection::timer_fired(void* self) {
  auto& connection = *static_cast<Connection*>(self);
  if (connection.closed_) return;
  if (!connection.replying_) return connection.close(false);
  if (connection.effects != nullptr && connection.effects->paces_writes()) {
    connection.flush_paced();
  } else {
    connection.flush();
  }
}

void Connection::peer_gone(AbortKind kind) {
  if (closed_) return;
  if (replying_ || (reader_.in_request() && !discarding_)) service_.peer_left(*this, kind);
  close(false);
}

void Connection::close(bool reset) {
  if (closed_) return;
  closed_ = true;
  timer_.cancel();
  set_exchange(nullptr);
  loop_.unwatch(socket_.fd());
  socket_.close(reset);
  service_.closed(*this);
}

}  // namespace smg::sim
