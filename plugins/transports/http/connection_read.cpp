// Connection: the answer on its way in.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "connection.hpp"
#include "endpoint.hpp"
#include "loop_state.hpp"

namespace smg::http {
namespace {

// Bytes per connection and turn, so that others have theirs.
constexpr std::size_t kTurnBudget = std::size_t{256} * 1024;

Transfer receive_plain(int fd, char* to, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::recv(fd, to, size, 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) return Transfer::moved(static_cast<std::size_t>(got));
  if (got == 0) return Transfer::ended();
  if (errno == EAGAIN) return Transfer::blocked();
  return Transfer::failed(errno);
}

}  // namespace

void Connection::resume() {
  // Even with nothing received since: the pause may have kept back the end of the message.
  read_later();
}

void Connection::read_later() {
  read_wanted_ = true;
  if (task_pending_) return;
  task_pending_ = true;
  loop_.services.defer(this);
}

void Connection::read() {
  read_wanted_ = false;
  if (exchange_->paused()) {
    drained_ = false;
    return;
  }
  const smg_buffer scratch = loop_.services.scratch();
  std::size_t have = kept_.take(scratch.data);
  if (parse_first_) {
    parse_first_ = false;
    if (parse(scratch.data, have) == Parsed::stopped) return;
  }
  std::size_t budget = kTurnBudget;
  for (;;) {
    const std::size_t room = static_cast<std::size_t>(scratch.size) - have;
    const Transfer got = tls_ != nullptr ? tls_->receive(scratch.data + have, room)
                                         : receive_plain(fd, scratch.data + have, room);
    if (got.state == Transfer::State::blocked) {
      drained_ = true;
      break;
    }
    if (got.state == Transfer::State::ended) return end_of_stream();
    if (got.state == Transfer::State::failed) return lose(got.error);
    drained_ = !hangup_ && (tls_ != nullptr ? tls_->drained() : got.size < room);
    exchange_->bytes_received();
    if (state_ != State::busy) return;
    have += got.size;
    if (parse(scratch.data, have) == Parsed::stopped) return;
    if (drained_) break;
    if (got.size >= budget) {
      read_later();
      break;
    }
    budget -= got.size;
  }
  kept_.store(scratch.data, have);
  if (write_failed_ && drained_) lose(EPIPE);
}

// Hands on what `data` holds. What the parser wants to see again is moved to the front, `have` says
// how much.
Connection::Parsed Connection::parse(char* data, std::size_t& have) {
  Exchange& exchange = *exchange_;
  std::size_t done = 0;
  for (;;) {
    const http1::Step step = parser_->next(data + done, have - done, loop_.parsed);
    done += step.consumed;
    switch (step.kind) {
      case http1::StepKind::need_more:
        have -= done;
        if (done > 0 && have > 0) std::memmove(data, data + done, have);
        return Parsed::all;
      case http1::StepKind::head:
        http10_ = loop_.parsed.head.http10;
        exchange.deliver(loop_.parsed.head);
        break;
      case http1::StepKind::body:
        exchange.deliver(step.body);
        break;
      case http1::StepKind::complete:
        finish(have - done);
        return Parsed::stopped;
      case http1::StepKind::error:
        fail(SMG_END_BAD_RESPONSE, std::string("the answer is no valid HTTP: ") + step.reason);
        return Parsed::stopped;
    }
    if (state_ != State::busy) return Parsed::stopped;
    if (exchange.paused()) {
      kept_.store(data + done, have - done);
      parse_first_ = true;
      return Parsed::stopped;
    }
  }
}

void Connection::end_of_stream() {
  if (parser_->end_of_stream().kind == http1::StepKind::complete) return finish(0);
  fail(SMG_END_CONNECTION_LOST, exchange_->answered()
                                    ? "the connection was closed before the answer was complete"
                                    : "the connection was closed before an answer came");
}

void Connection::finish(std::size_t left_over) {
  Exchange& exchange = *exchange_;
  const bool reusable = parser_->reusable() && !http10_ && left_over == 0 && written_ && drained_ &&
                        !hangup_ && !write_failed_;
  exchange_ = nullptr;
  if (reusable) {
    endpoint_.pool(loop_.index).put(*this);
  } else {
    close();
  }
  exchange.end(SMG_END_COMPLETE, {});
}

void Connection::lose(int error) {
  if (tls_ != nullptr && !tls_->error().empty()) {
    return fail(SMG_END_CONNECTION_LOST,
                std::string("the TLS connection broke: ").append(tls_->error()));
  }
  fail(error == ETIMEDOUT ? SMG_END_TIMEOUT : SMG_END_CONNECTION_LOST,
       std::string("the connection broke: ") + std::strerror(error));
}

void Connection::fail(uint32_t kind, std::string_view detail) {
  Exchange& exchange = *exchange_;
  const bool stale = kind == SMG_END_CONNECTION_LOST && reused_ && !exchange.answered();
  const std::string text(detail);  // the TLS session that wrote it goes with the connection
  close();
  if (!stale || !exchange.resend()) exchange.end(kind, text);
}

}  // namespace smg::http
