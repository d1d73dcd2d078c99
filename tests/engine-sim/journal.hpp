#pragma once
// What an engine has seen, for tests to assert on: the last requests with their headers and the
// hash of their bodies, the requests that were cut off or abandoned, and the bytes that were no
// request.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "connection.hpp"

namespace smg::sim {

// Lower-case hex.
std::string sha256_hex(std::string_view data);

class Journal {
 public:
  // Remembers the last `capacity` requests and as many aborts; 0 = counts only.
  explicit Journal(std::size_t capacity) : capacity_(capacity) {}

  void head_read(Connection& connection);
  void request_read(Connection& connection);
  void refused(Connection& connection, const std::string& reason);
  void reply_sent(Connection& connection);
  void peer_left(Connection& connection, AbortKind kind);
  void clear();

  boost::json::object counts() const;
  boost::json::array requests(bool posts_only) const;
  boost::json::array aborts() const;
  boost::json::array refusals() const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint64_t connection = 0;
    std::uint64_t index = 0;  // on its connection
    std::string head;
    std::uint64_t body_bytes = 0;
    std::string body_sha256;
    bool complete = false;
    bool answered = false;
    double monotonic_ms = 0;
    double unix_ms = 0;
  };
  struct Abort {
    std::uint64_t number = 0;
    std::uint64_t connection = 0;
    std::string target;
    bool reset = false;
    bool in_request = false;
    std::uint64_t bytes_sent = 0;
    double monotonic_ms = 0;
    double unix_ms = 0;
  };
  struct Refusal {
    std::uint64_t connection = 0;
    std::string reason;
    std::string head;
  };
  Entry* find(std::uint64_t number);

  std::size_t capacity_;
  std::deque<Entry> entries_;
  std::deque<Abort> aborts_;
  std::deque<Refusal> refusals_;
  std::uint64_t heads_ = 0;  // the number of the last request, they begin at 1
  std::uint64_t posts_ = 0;
  std::uint64_t complete_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t aborted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace smg::sim
