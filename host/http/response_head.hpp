// Heads of answers as they go to clients: status line, filtered worker headers, the gateway's own,
// framing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/routing/client.hpp"

namespace smg {

// How the end of an answer's body is told.
enum class Framing : std::uint8_t { none, length, chunked, until_close };

// What the answer needs to know of its request.
struct ReplyContext {
  std::string_view request_id;
  std::string_view cors;  // whole header lines, or empty
  bool http10 = false;
  bool keep_alive = true;  // what the client would like
  bool head_only = false;  // a HEAD request
};

// Appends the head of a relayed answer. `keep_alive` of the context is cleared when the framing
// rules it out.
Framing append_relayed_head(std::string& out, const RelayedHead& head, ReplyContext& context);
// Appends a whole answer made here: head and, unless the request was HEAD, body.
void append_reply(std::string& out, const MadeReply& reply, ReplyContext& context);

}  // namespace smg
