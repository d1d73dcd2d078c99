#include "dial.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "authority.hpp"
#include "endpoint.hpp"
#include "loop_state.hpp"

namespace smg::http {
namespace {

constexpr uint64_t kStagger = 250'000'000;  // ns, RFC 8305 section 8

std::string address_text(const smg_address& address) {
  char room[INET6_ADDRSTRLEN] = "?";
  inet_ntop(address.family == 6 ? AF_INET6 : AF_INET, address.bytes, room, sizeof room);
  return authority(room, address.port);
}

std::string place(const Endpoint& endpoint) {
  return authority(endpoint.host(), endpoint.port());
}

}  // namespace

Dial::Dial(LoopState& loop, Endpoint& endpoint, Exchange& exchange)
    : smg_timer{},
      loop_(loop),
      endpoint_(endpoint),
      exchange_(exchange),
      deadline_(loop.services.now() + loop.settings.connect_timeout) {
  fired = timer_fired;
}

void Dial::start() {
  loop_.services.set_timer(this, deadline_);
  const uint64_t handle =
      loop_.services.resolve(endpoint_.host(), endpoint_.port(), resolved, this);
  if (handle != 0) resolving_ = handle;  // else it was answered already, and the dial may be gone
}

void Dial::abort() {
  drop_attempts();
  finish();
}

void Dial::resolved(void* context, const smg_address* addresses, uint32_t count, smg_view detail) {
  auto& dial = *static_cast<Dial*>(context);
  dial.resolving_ = 0;
  if (count == 0) {
    return dial.fail(SMG_END_CONNECT_FAILED,
                     "cannot resolve " + std::string(dial.endpoint_.host()) + ": " +
                         (detail.size > 0 ? std::string(text(detail)) : "no address"));
  }
  dial.adopt(addresses, count);
  dial.try_next();
}

// Families take turns, the one that the system prefers first.
void Dial::adopt(const smg_address* addresses, uint32_t count) {
  const uint16_t preferred = addresses[0].family;
  uint32_t ours = 0;
  uint32_t others = 0;
  const auto seek = [&](uint32_t from, bool wanted) {
    while (from < count && (addresses[from].family == preferred) != wanted) ++from;
    return from;
  };
  while (count_ < kMostAddresses) {
    const uint32_t before = count_;
    if (ours = seek(ours, true); ours < count) addresses_[count_++] = addresses[ours++];
    if (others = seek(others, false); others < count && count_ < kMostAddresses) {
      addresses_[count_++] = addresses[others++];
    }
    if (count_ == before) break;
  }
}

void Dial::try_next() {
  while (next_ < count_) {
    Connection& attempt = *loop_.connections.make(loop_, endpoint_);
    const int error = attempt.connect(addresses_[next_++], *this);
    if (error == 0) {
      attempts_.push_front(attempt);
      next_try_ = loop_.services.now() + kStagger;
      return arm();
    }
    last_error_ = error;
    attempt.close();
  }
  if (attempts_.empty()) return fail_to_connect();
  arm();
}

void Dial::arm() {
  const bool more = next_ < count_ && !shaking_hands_;
  const uint64_t wanted = more ? std::min(next_try_, deadline_) : deadline_;
  if (due != wanted || host_link == nullptr) loop_.services.set_timer(this, wanted);
}

void Dial::timer_fired(smg_timer* timer) {
  auto& dial = *static_cast<Dial*>(timer);
  if (timer->due < dial.deadline_) return dial.try_next();
  dial.fail(SMG_END_TIMEOUT,
            "no connection to " + place(dial.endpoint_) + " within " +
                std::to_string(dial.loop_.settings.connect_timeout / 1'000'000'000) + " s" +
                (dial.shaking_hands_ ? ": the TLS handshake was not complete" : ""));
}

void Dial::attempt_connected(Connection& connection) {
  attempts_.remove(connection);
  drop_attempts();
  if (endpoint_.tls() == nullptr) return handshake_done(connection);
  attempts_.push_front(connection);
  shaking_hands_ = true;
  arm();
  connection.begin_handshake();
}

void Dial::attempt_failed(Connection& connection, int error) {
  attempts_.remove(connection);
  connection.close();
  last_error_ = error;
  try_next();
}

void Dial::handshake_done(Connection& connection) {
  if (shaking_hands_) attempts_.remove(connection);
  Exchange& exchange = exchange_;
  finish();
  exchange.connected(connection);
}

void Dial::handshake_failed(Connection& connection, std::string_view why) {
  const std::string text = "TLS to " + place(endpoint_) + " failed: " + std::string(why);
  attempts_.remove(connection);
  connection.close();
  fail(SMG_END_CONNECT_FAILED, text);
}

void Dial::fail_to_connect() {
  std::string text = "cannot connect to " + address_text(addresses_[count_ - 1]) + ": " +
                     std::strerror(last_error_);
  if (count_ > 1) {
    text += "; none of the " + std::to_string(count_) + " addresses of " +
            std::string(endpoint_.host()) + " worked";
  }
  fail(SMG_END_CONNECT_FAILED, text);
}

void Dial::fail(uint32_t kind, std::string_view detail) {
  Exchange& exchange = exchange_;
  drop_attempts();
  finish();
  exchange.end(kind, detail);
}

void Dial::drop_attempts() {
  while (!attempts_.empty()) {
    Connection& attempt = *attempts_.front();
    attempts_.remove(attempt);
    attempt.close();
  }
}

void Dial::finish() {
  if (resolving_ != 0) loop_.services.cancel_resolve(resolving_);
  loop_.services.clear_timer(this);
  loop_.dials.give_back(this);
}

}  // namespace smg::http
