#include "host/access_line.hpp"

#include <limits.h>
#include <time.h>

#include <array>
#include <charconv>
#include <cstring>

#include "host/metrics/utf8.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {
namespace {

std::string_view name_of(AccessEnd end) {
  switch (end) {
    case AccessEnd::complete:
      return "complete";
    case AccessEnd::client_gone:
      return "client_gone";
    case AccessEnd::cut:
      return "cut";
    default:
      return "refused";
  }
}

// Room for the longest line there can be: the path, eight values, and what stands around them.
constexpr std::size_t kLongestLine = AccessLine::kLongestPath + 8 * AccessLine::kLongestValue + 768;
static_assert(kLongestLine <= PIPE_BUF);

// Writes on in a line's buffer. Names are literals, so that they are copied without a call.
class Cursor {
 public:
  explicit Cursor(char* at) : at_(at) {}

  char* at() const { return at_; }
  template <std::size_t N>
  void put(const char (&literal)[N]) {
    std::memcpy(at_, literal, N - 1);
    at_ += N - 1;
  }
  void put(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void number(std::uint64_t value) { at_ = std::to_chars(at_, at_ + 20, value).ptr; }
  // Nanoseconds as milliseconds with three decimals.
  void milliseconds(std::uint64_t ns) {
    const std::uint64_t us = ns / 1000;
    number(us / 1000);
    const auto digit = [](std::uint64_t value) { return static_cast<char>('0' + value % 10); };
    const char decimals[] = {'.', digit(us / 100), digit(us / 10), digit(us)};
    put({decimals, sizeof decimals});
  }
  // The bytes at the front of `value` that stand for themselves: visible ASCII from `lowest` on,
  // but no quote and no backslash. Returns their number.
  std::size_t plain(std::string_view value, char lowest);

 private:
  char* at_;
};

bool is_plain(char c, char lowest) {
  return c >= lowest && c < 0x7f && c != '"' && c != '\\';
}

// The same for eight bytes at once; one that is not sets the highest bit of its byte, or of one
// above it.
bool all_plain(std::uint64_t bytes, char lowest) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const auto below = [](std::uint64_t of, std::uint64_t limit) {
    return (of - limit * kOnes) & ~of;
  };
  const std::uint64_t odd = below(bytes, static_cast<unsigned char>(lowest)) | (bytes + kOnes) |
                            bytes | below(bytes ^ '"' * kOnes, 1) | below(bytes ^ '\\' * kOnes, 1);
  return (odd & (0x80 * kOnes)) == 0;
}

std::size_t Cursor::plain(std::string_view value, char lowest) {
  std::size_t size = 0;
  for (std::uint64_t bytes = 0; value.size() - size >= sizeof bytes; size += sizeof bytes) {
    std::memcpy(&bytes, value.data() + size, sizeof bytes);
    if (!all_plain(bytes, lowest)) break;
    std::memcpy(at_ + size, &bytes, sizeof bytes);
  }
  for (; size < value.size() && is_plain(value[size], lowest); ++size) at_[size] = value[size];
  at_ += size;
  return size;
}

// A line as `name=value` pairs, each behind a blank.
struct TextFields {
  Cursor& out;

  template <std::size_t N>
  Cursor& name(const char (&name)[N]) {
    out.put(" ");
    out.put(name);
    out.put("=");
    return out;
  }
  void value(std::string_view value, std::size_t longest) {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (const char* const end = out.at() + longest;;) {
      const auto room = static_cast<std::size_t>(end - out.at());
      value.remove_prefix(out.plain(value.substr(0, room), '!'));
      if (value.empty()) return;
      if (end - out.at() < 4) break;
      const auto byte = static_cast<unsigned char>(value[0]);
      const char escape[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      out.put({escape, sizeof escape});
      value.remove_prefix(1);
    }
    out.put("...");
  }
};

// The same as members of an object.
struct JsonFields {
  Cursor& out;

  template <std::size_t N>
  Cursor& name(const char (&name)[N]) {
    out.put(",\"");
    out.put(name);
    out.put("\":");
    return out;
  }
  void value(std::string_view value, std::size_t longest) {
    out.put("\"");
    const std::size_t run = out.plain(value.substr(0, longest), ' ');
    if (run < value.size()) put_quoted(value.substr(run), longest - run);
    out.put("\"");
  }

 private:
  // Character by character, since some need six bytes; such values are rare.
  void put_quoted(std::string_view value, std::size_t room) {
    const bool cut = value.size() > room;
    const std::string clean = valid_utf8(value.substr(0, room));
    std::string quoted;
    for (std::size_t at = 0, size = 0; at < clean.size(); at += size) {
      for (size = 1; at + size < clean.size() && (clean[at + size] & 0xc0) == 0x80;) ++size;
      quoted.clear();
      append_quoted(quoted, clean.substr(at, size));
      const auto inner = std::string_view(quoted).substr(1, quoted.size() - 2);
      if (inner.size() > room) return out.put("...");
      out.put(inner);
      room -= inner.size();
    }
    if (cut) out.put("...");
  }
};

template <class Fields>
void put_fields(Fields fields, const AccessEntry& entry) {
  const auto text = [&](const auto& name, std::string_view value,
                        std::size_t longest = AccessLine::kLongestValue) {
    if (value.empty()) return;
    fields.name(name);
    fields.value(value, longest);
  };
  text("client", entry.client);
  text("method", entry.method);
  text("path", entry.path.substr(0, entry.path.find('?')), AccessLine::kLongestPath);
  if (entry.status != 0) fields.name("status").number(entry.status);
  fields.name("bytes").number(entry.bytes_sent);
  fields.name("duration_ms").milliseconds(entry.duration);
  if (entry.first_byte != 0) fields.name("first_byte_ms").milliseconds(entry.first_byte);
  text("worker", entry.worker);
  text("model", entry.model);
  text("tenant", entry.tenant);
  text("error", entry.error_code);
  text("end", name_of(entry.end));
  text("request_id", entry.request_id);
}

}  // namespace

void AccessLine::append(std::string& out, const AccessEntry& entry, std::uint64_t now) {
  std::array<char, kLongestLine> line;
  Cursor cursor(line.data());
  look_at_clock(now);
  const auto ms = static_cast<unsigned>(now % 1000);
  const auto digit = [](unsigned value) { return static_cast<char>('0' + value % 10); };
  const char decimals[] = {'.', digit(ms / 100), digit(ms / 10), digit(ms)};
  if (json_) cursor.put(R"({"timestamp":")");
  cursor.put(date_);
  cursor.put({decimals, sizeof decimals});
  if (json_) {
    cursor.put(zone_);
    cursor.put(R"(","level":"info","type":"access")");
    put_fields(JsonFields{cursor}, entry);
    cursor.put("}\n");
  } else {
    cursor.put(" info  access");
    put_fields(TextFields{cursor}, entry);
    cursor.put("\n");
  }
  out.append(line.data(), static_cast<std::size_t>(cursor.at() - line.data()));
}

void AccessLine::look_at_clock(std::uint64_t now) {
  if (now / 1000 == second_) return;
  second_ = now / 1000;
  const auto seconds = static_cast<time_t>(second_);
  tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text;
  date_.assign(text.data(), strftime(text.data(), text.size(),
                                     json_ ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &local));
  zone_.assign(text.data(), strftime(text.data(), text.size(), "%z", &local));
  zone_.insert(zone_.size() - 2, 1, ':');
}

}  // namespace smg
