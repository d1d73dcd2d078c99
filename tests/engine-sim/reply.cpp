#include "reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace smg::sim {

namespace {

std::string_view date_now() {
  static std::time_t shown = 0;
  static std::array<char, 40> text;
  static std::size_t size = 0;
  const std::time_t now = std::time(nullptr);
  if (now != shown) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    shown = now;
  }
  return {text.data(), size};
}

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 20> digits;
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 102:
      return "Processing";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Simulated";
  }
}

void append_escaped(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u >= 0x20) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out.append("\\u00").append(1, kHex[u >> 4]).append(1, kHex[u & 15]);
    }
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

void Reply::begin(int status, std::string_view type, std::optional<std::uint64_t> length,
                  std::string_view extra_headers, std::string& head) {
  const Request& request = connection_.request();
  const Effects* fault = effects();
  keep_alive_ = request.keep_alive;
  framing_ = length ? Framing::Length : Framing::Chunked;
  bool announce_close = true;
  bool two_lengths = false;
  std::optional<std::uint64_t> shown = length;
  if (framing_ == Framing::Chunked && request.minor_version == 0) framing_ = Framing::UntilClose;
  if (fault != nullptr) {
    for (std::int64_t i = 0; fault->informational != 0 && i < fault->informational_count; ++i) {
      head.append("HTTP/1.1 ");
      append_number(head, static_cast<std::uint64_t>(fault->informational));
      head.append(" ").append(reason_phrase(fault->informational)).append("\r\n\r\n");
    }
    if (fault->no_framing) framing_ = Framing::UntilClose;
    if (fault->two_lengths || fault->length_error != 0) {
      framing_ = Framing::Length;
      two_lengths = fault->two_lengths;
      const std::int64_t wrong =
          static_cast<std::int64_t>(length.value_or(1000)) + fault->length_error;
      shown = static_cast<std::uint64_t>(std::max<std::int64_t>(0, wrong));
      keep_alive_ = false;
      announce_close = false;
    }
    if (fault->length_and_chunked) {
      framing_ = Framing::Chunked;
      shown = length.value_or(10);
    }
    if (fault->close_after) {
      keep_alive_ = false;
      announce_close = fault->announce_close;
    }
  }
  if (framing_ == Framing::UntilClose) keep_alive_ = false;
  if (fault != nullptr && !fault->status_line.empty()) {
    head.append(fault->status_line);
  } else {
    head.append("HTTP/1.1 ");
    append_number(head, static_cast<std::uint64_t>(status));
    head.append(" ").append(reason_phrase(status));
  }
  head.append("\r\ndate: ").append(date_now()).append("\r\nserver: uvicorn\r\n");
  if (framing_ == Framing::Length || (shown && framing_ == Framing::Chunked)) {
    head.append("content-length: ");
    append_number(head, *shown);
    head.append("\r\n");
  }
  if (two_lengths) {
    head.append("content-length: ");
    append_number(head, *shown + 1);
    head.append("\r\n");
  }
  if (!type.empty()) head.append("content-type: ").append(type).append("\r\n");
  head.append(extra_headers);
  if (!keep_alive_ && announce_close) head.append("connection: close\r\n");
  if (framing_ == Framing::Chunked) head.append("transfer-encoding: chunked\r\n");
  head.append("\r\n");
}

void Reply::early(int status, bool abrupt) {
  std::string body = R"({"error":{"message":"simulated early answer","type":"BadRequestError",)";
  body.append(R"("param":null,"code":)").append(std::to_string(status)).append("}}");
  if (connection_.effects != nullptr) connection_.effects->close_after = true;
  std::string wire;
  begin(status, "application/json", body.size(), {}, wire);
  connection_.send(wire.append(body));
  connection_.end_early(abrupt);
}

void Reply::whole(int status, std::string_view type, std::string_view body,
                  std::string_view extra_headers) {
  if (connection_.is_closed()) return;
  const Effects* fault = effects();
  if (fault != nullptr && fault->body) body = *fault->body;
  std::string wire;
  wire.reserve(body.size() + 256 + extra_headers.size());
  const bool bodiless = status == 204 || status == 304 || connection_.request().method == "HEAD";
  begin(status, type, body.size(), extra_headers, wire);
  if (fault != nullptr && fault->reset_after_head) {
    connection_.send(wire);
    return connection_.cut(true);
  }
  if (fault != nullptr && fault->cut != Cut::None) {
    wire.append(body.substr(0, body.size() / 2));
    connection_.send(wire);
    return connection_.cut(fault->cut == Cut::Reset);
  }
  if (framing_ == Framing::Chunked) {
    std::string piece(kChunkGap, ' ');
    piece.append(body);
    wire.append(frame(piece)).append(terminator());
  } else if (!bodiless) {
    wire.append(body);
  }
  connection_.send(wire);
  connection_.end_reply(keep_alive_);
}

void Reply::error(int status, std::string_view message, std::string_view extra_headers) {
  std::string body = R"({"error":{"message":)";
  append_quoted(body, message);
  body.append(R"(,"type":")").append(status < 500 ? "BadRequestError" : "InternalServerError");
  body.append(R"(","param":null,"code":)").append(std::to_string(status)).append("}}");
  whole(status, "application/json", body, extra_headers);
}

void Reply::open(int status, std::string_view type, std::optional<std::uint64_t> length,
                 std::string_view extra_headers) {
  std::string head;
  head.reserve(256 + extra_headers.size());
  begin(status, type, length, extra_headers, head);
  connection_.send(head);
  if (effects() != nullptr && effects()->reset_after_head) connection_.cut(true);
}

std::string_view Reply::frame(std::string& piece) const {
  if (framing_ != Framing::Chunked) return std::string_view(piece).substr(kChunkGap);
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::size_t left = piece.size() - kChunkGap;
  std::size_t at = kChunkGap;
  piece[--at] = '\n';
  piece[--at] = '\r';
  do {
    piece[--at] = kHex[left & 15];
    left >>= 4;
  } while (left != 0 && at > 0);
  piece.append("\r\n");
  return std::string_view(piece).substr(at);
}

void Reply::stream(std::string& piece) {
  if (piece.size() > kChunkGap) connection_.send(frame(piece));
}

std::string_view Reply::terminator() const {
  return framing_ == Framing::Chunked ? "0\r\n\r\n" : "";
}

void Reply::end() {
  connection_.send(terminator());
  end_framed();
}

void Reply::end_framed() {
  connection_.end_reply(keep_alive_);
}

bool Reply::cut_before(std::uint64_t index) {
  const Effects* fault = effects();
  if (fault == nullptr || fault->cut == Cut::None || index < fault->cut_after) return false;
  if (fault->cut == Cut::BadChunk) connection_.send("xyz\r\n");
  connection_.cut(fault->cut == Cut::Reset);
  return true;
}

}  // namespace smg::sim
