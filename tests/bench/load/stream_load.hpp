// Streamed requests, one per connection. The streams start evenly over the ramp and each runs once,
// to its [DONE]; one that ends without it, or with another number of tokens than asked for, is
// truncated. Tokens and their lag are counted over the window and over the whole run. The lag of a
// token is its arrival minus the stream's ideal schedule: the first token one interval after the
// request, then one per interval; a token that arrives earlier than that moves the schedule to
// itself. With Mode::kIdle every stream is held after its first event until stdin closes.
#pragma once

#include <string>
#include <vector>

#include "event_loop.hpp"
#include "report.hpp"
#include "sse_counter.hpp"
#include "window.hpp"

namespace smg::bench {

class StreamLoad {
 public:
  explicit StreamLoad(const Options& options);
  /// Runs until every stream has ended or the drain time is over, returns the report.
  boost::json::object run();
  /// Mode::kIdle: prints {"ready":true,...} when all have begun, waits for stdin to
  /// close.
  boost::json::object hold();

 private:
  struct Stream {
    Connection connection;
    SseCounter counter;
    Nanos started = 0;
    Nanos schedule = 0;  // when token 0 was ideally due
    unsigned tokens = 0;
    bool begun = false;
  };

  struct Tally {
    boost::json::object to_json(double seconds) const;

    std::uint64_t tokens = 0;
    Histogram lag;
  };

  /// Starts what the ramp makes due and handles events until `deadline` at most.
  void turn(Nanos deadline);
  void on_event(std::uint32_t index, std::uint32_t events);
  void on_tokens(Stream& stream, unsigned count);
  void on_end(Stream& stream, Event event);
  Nanos start_time(std::size_t index) const;
  bool all_ended() const { return ended_ == streams_.size(); }
  boost::json::object report() const;

  const Options& options_;
  const sockaddr_in server_;
  const std::string request_;
  const Nanos interval_;
  EventLoop loop_;
  std::vector<Stream> streams_;
  const Nanos start_;
  Window window_;
  std::uint32_t launched_ = 0;
  std::size_t begun_ = 0;  // streams whose body has begun
  std::size_t ended_ = 0;
  Nanos last_end_ = 0;
  std::uint64_t completed_ = 0;
  Tally in_window_;
  Tally all_;
  Histogram first_token_;
  Errors errors_;
};

}  // namespace smg::bench
