// The requests of one loop that engines are working on: frames in, answers in OpenAI's words out.
//
// A sink call may come back with cancel(), which deletes the stream: so every step goes by the
// stream's number and looks it up anew.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "services.hpp"

namespace acme {

class Line;

class Streams {
 public:
  explicit Streams(const Services& services);
  ~Streams();

  // Numbers of the loop, never 0. Frames carry them as `id`.
  uint64_t next_number() { return ++last_; }

  void begin(uint64_t number, Line& line, const smg_request& request, uint64_t ticket);
  void pause(uint64_t number);
  void resume(uint64_t number);
  void cancel(uint64_t number);

  // A frame about a stream, and the end of the connection that carries some.
  void received(std::string_view op, const boost::json::object& frame);
  void lose(const Line& line, uint32_t kind, std::string_view why);

 private:
  struct Stream;

  Stream* find(uint64_t number) const;
  void tell_engine(uint64_t number, const char* op);
  void token(uint64_t number, std::string_view text);
  void done(uint64_t number, const boost::json::object& frame);
  void failed(uint64_t number, const boost::json::object& frame);
  // False: the stream is gone, cancelled from within the call.
  bool head(uint64_t number, uint32_t status, std::string_view type, int64_t length);
  bool data(uint64_t number, std::string_view bytes);
  void end(uint64_t number, uint32_t kind, std::string_view detail);
  void document(uint64_t number, uint32_t status, std::string_view text);

  const Services& services_;
  std::unordered_map<uint64_t, std::unique_ptr<Stream>> streams_;
  uint64_t last_ = 0;
  std::string out_;  // chunks on their way to the sink
};

}  // namespace acme
