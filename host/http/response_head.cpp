#include "host/http/response_head.hpp"

#include <charconv>

#include "host/base/views.hpp"
#include "host/routing/error_reply.hpp"

namespace smg {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

void append_status_line(std::string& out, std::uint32_t status) {
  if (status == 200) {
    out += "HTTP/1.1 200 OK\r\n";
    return;
  }
  out += "HTTP/1.1 ";
  append_number(out, status);
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
}

void append_own(std::string& out, const ReplyContext& context, std::string_view worker_url) {
  if (!worker_url.empty()) {
    out += "x-smg-routed-worker-id: ";
    out += worker_url;
    out += "\r\n";
  }
  if (!context.request_id.empty()) {
    out += "x-request-id: ";
    out += context.request_id;
    out += "\r\n";
  }
  out += context.cors;
  if (!context.keep_alive) {
    out += "connection: close\r\n";
  } else if (context.http10) {
    out += "connection: keep-alive\r\n";
  }
}

// Hop-by-hop fields, those that the gateway writes itself, and its own error code, which only it
// may set.
bool is_dropped(std::string_view name, bool event_stream) {
  const auto is = [&](std::string_view other) { return equals_ignoring_case(name, other); };
  switch (name.size()) {
    case 2:
      return is("te");
    case 4:
      return is("host");
    case 7:
      return is("upgrade") || is("trailer");
    case 8:
      return is("trailers");
    case 10:
      return is("connection") || is("keep-alive");
    case 12:
      return is("x-request-id") || (event_stream && is("content-type"));
    case 14:
      return is("content-length");
    case 16:
      return is("content-encoding") || is("x-smg-error-code");
    case 17:
      return is("transfer-encoding");
    case 18:
      return is("proxy-authenticate");
    case 19:
      return is("proxy-authorization");
    case 22:
      return is("x-smg-routed-worker-id");
    default:
      return false;
  }
}

bool repeated_later(std::span<const smg_header> headers, std::size_t at) {
  const std::string_view name = text(headers[at].name);
  for (std::size_t i = at + 1; i < headers.size(); ++i) {
    if (headers[i].name.size == name.size() && equals_ignoring_case(text(headers[i].name), name)) {
      return true;
    }
  }
  return false;
}

bool bodiless(std::uint32_t status) {
  return status == 204 || status == 304;
}

}  // namespace

Framing append_relayed_head(std::string& out, const RelayedHead& head, ReplyContext& context) {
  Framing framing = Framing::length;
  if (bodiless(head.status)) {
    framing = Framing::none;
  } else if (head.content_length < 0) {
    framing = context.http10 ? Framing::until_close : Framing::chunked;
  }
  if (framing == Framing::until_close) context.keep_alive = false;
  append_status_line(out, head.status);
  for (std::size_t i = 0; i < head.headers.size(); ++i) {
    const std::string_view name = text(head.headers[i].name);
    if (is_dropped(name, head.event_stream) || repeated_later(head.headers, i)) continue;
    out += name;
    out += ": ";
    out += text(head.headers[i].value);
    out += "\r\n";
  }
  if (head.event_stream) out += "content-type: text/event-stream\r\n";
  append_own(out, context, head.worker_url);
  if (framing == Framing::length) {
    out += "content-length: ";
    append_number(out, static_cast<std::uint64_t>(head.content_length));
    out += "\r\n\r\n";
  } else if (framing == Framing::chunked) {
    out += "transfer-encoding: chunked\r\n\r\n";
  } else {
    out += "\r\n";
  }
  return framing;
}

void append_reply(std::string& out, const MadeReply& reply, ReplyContext& context) {
  if (reply.close) context.keep_alive = false;
  append_status_line(out, reply.status);
  if (!reply.content_type.empty()) {
    out += "content-type: ";
    out += reply.content_type;
    out += "\r\n";
  }
  if (!reply.error_code.empty()) {
    out += "x-smg-error-code: ";
    out += reply.error_code;
    out += "\r\n";
  }
  out += reply.extra_headers;
  append_own(out, context, reply.worker_url);
  if (bodiless(reply.status)) {
    out += "\r\n";
    return;
  }
  out += "content-length: ";
  append_number(out, reply.body.size());
  out += "\r\n\r\n";
  if (!context.head_only) out += reply.body;
}

}  // namespace smg
