// Connection: the request on its way out.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "connection.hpp"
#include "endpoint.hpp"
#include "loop_state.hpp"
#include "request_head.hpp"

namespace smg::http {
namespace {

constexpr std::size_t kUsualHead = 4096;   // longer ones are made on the heap
constexpr std::size_t kPieces = 64;        // per system call
constexpr std::size_t kTlsRecord = 16384;  // what one record carries

// The pieces of head and body from `offset` on, as many as fit.
std::size_t gather(const smg_request& request, const char* head, std::size_t head_size,
                   uint64_t offset, iovec* pieces) {
  std::size_t count = 0;
  const auto add = [&](const char* data, uint64_t size) {
    if (offset >= size) {
      offset -= size;
      return;
    }
    pieces[count++] = {const_cast<char*>(data) + offset, static_cast<std::size_t>(size - offset)};
    offset = 0;
  };
  add(head, head_size);
  for (uint32_t i = 0; i < request.body_count && count < kPieces; ++i) {
    add(request.body[i].data, request.body[i].size);
  }
  return count;
}

Transfer send_plain(int fd, iovec* pieces, std::size_t count) {
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = count;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Transfer::moved(static_cast<std::size_t>(sent));
  if (errno == EAGAIN) return Transfer::blocked();
  return Transfer::failed(errno);
}

// One record of what comes next, so that small pieces do not become records of their own.
Transfer send_record(TlsSession& tls, const iovec* pieces, std::size_t count) {
  if (count == 1 || pieces[0].iov_len >= kTlsRecord) {
    return tls.send(static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len);
  }
  char record[kTlsRecord];
  std::size_t size = 0;
  for (std::size_t i = 0; i < count && size < kTlsRecord; ++i) {
    const std::size_t part = std::min(pieces[i].iov_len, kTlsRecord - size);
    std::memcpy(record + size, pieces[i].iov_base, part);
    size += part;
  }
  return tls.send(record, size);
}

}  // namespace

Transfer Connection::send_some(const smg_request& request) {
  char usual[kUsualHead];
  std::unique_ptr<char[]> unusual;
  char* head = usual;
  if (sent_ < head_size_) {
    if (head_size_ > kUsualHead) {
      unusual = std::make_unique<char[]>(head_size_);
      head = unusual.get();
    }
    write_head(endpoint_, request, head);
  }
  iovec pieces[kPieces + 1];
  const std::size_t count = gather(request, head, head_size_, sent_, pieces);
  return tls_ != nullptr ? send_record(*tls_, pieces, count) : send_plain(fd, pieces, count);
}

void Connection::use(Exchange& exchange, bool reused) {
  state_ = State::busy;
  dial_ = nullptr;
  exchange_ = &exchange;
  reused_ = reused;
  const smg_request& request = exchange.request();
  parser_.emplace(http1::Limits{}, text(request.method) == "HEAD");
  head_size_ = static_cast<uint32_t>(head_size(endpoint_, request));
  sent_ = 0;
  written_ = write_failed_ = hangup_ = parse_first_ = http10_ = read_wanted_ = false;
  drained_ = true;
  write_request();
}

void Connection::write_request() {
  if (write_failed_) return;
  const smg_request& request = exchange_->request();
  const uint64_t total = head_size_ + request.body_size;
  while (sent_ < total) {
    const Transfer sent = send_some(request);
    if (sent.state == Transfer::State::blocked) return;
    if (sent.state != Transfer::State::moved) {
      // What the engine said before it hung up is still to be read: an early answer counts.
      write_failed_ = hangup_ = true;
      return read_later();
    }
    sent_ += sent.size;
    exchange_->bytes_sent();
  }
  written_ = true;
  exchange_->request_written(reused_);
}

}  // namespace smg::http
