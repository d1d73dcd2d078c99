#include "host/http/channel.hpp"

namespace smg {
Channel::Outcome Channel::read_tls(char* to, std::size_t size) {
  const Outcome outcome = tls_->read(to, size);
  if (outcome.state == State::plain_http) tls_.reset();
  return outcome;
}

Channel::Outcome Channel::write_tls(std::string_view first, std::string_view second) {
  Outcome outcome = tls_->write(first.data(), first.size());
  if (outcome.bytes == first.size() && !second.empty()) {
    // What keeps it from being taken, the next call will tell.
    outcome.bytes += tls_->write(second.data(), second.size()).bytes;
  }
  return outcome;
}

bool Channel::shutdown_write() {
  if (tls_ != nullptr && !tls_->send_close_notify()) return false;
  ::shutdown(fd_, SHUT_WR);
  return true;
}

}  // namespace smg
