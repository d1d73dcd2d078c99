#pragma once
// Writes one answer to a connection: head, framing and body, as HTTP wants it or as the effects of
// the current faults want it. Cheap to make; refers to the connection, which must not have closed
// when a member is called (they then do nothing).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "connection.hpp"

namespace smg::sim {

// Bytes kept free in front of what stream() is given, for the size of the chunk.
inline constexpr std::size_t kChunkGap = 10;

class Reply {
 public:
  explicit Reply(Connection& connection) : connection_(connection) {}

  // A complete answer. `extra_headers` are whole lines.
  void whole(int status, std::string_view type, std::string_view body,
             std::string_view extra_headers = {});
  // Error body in OpenAI's form.
  void error(int status, std::string_view message, std::string_view extra_headers = {});
  // An error before the request's body is read; the connection closes.
  void early(int status, bool abrupt);

  // An answer in pieces; without a length it is chunked.
  void open(int status, std::string_view type, std::optional<std::uint64_t> length,
            std::string_view extra_headers = {});
  // Sends a piece. It begins with kChunkGap bytes of room.
  void stream(std::string& piece);
  // Puts the framing around a piece without sending it.
  std::string_view frame(std::string& piece) const;
  void end();
  // Ends an answer whose last piece was framed together with its end.
  void end_framed();
  // What ends a chunked body; empty otherwise.
  std::string_view terminator() const;

  // To be asked before token number `index` is sent: true when a fault ended the answer here.
  bool cut_before(std::uint64_t index);

 private:
  enum class Framing : std::uint8_t { Length, Chunked, UntilClose };
  void begin(int status, std::string_view type, std::optional<std::uint64_t> length,
             std::string_view extra_headers, std::string& head);
  const Effects* effects() const { return connection_.effects.get(); }

  Connection& connection_;
  Framing framing_ = Framing::Length;
  bool keep_alive_ = true;
};

std::string_view reason_phrase(int status);
// Appends `text` as the inside of a JSON string.
void append_escaped(std::string& out, std::string_view text);
void append_quoted(std::string& out, std::string_view text);

}  // namespace smg::sim
