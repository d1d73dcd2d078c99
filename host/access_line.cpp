#include "host/access_line.hpp"

#include <time.h>

#include <array>
#include <charconv>

#include "host/metrics/utf8.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {
namespace {

constexpr std::string_view kCut = "...";

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

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

// Nanoseconds as milliseconds with three decimals.
void append_milliseconds(std::string& out, std::uint64_t ns) {
  const std::uint64_t us = ns / 1000;
  append_number(out, us / 1000);
  const auto digit = [](std::uint64_t value) { return static_cast<char>('0' + value % 10); };
  const char decimals[] = {'.', digit(us / 100), digit(us / 10), digit(us)};
  out.append(decimals, sizeof decimals);
}

// Bytes that stand for themselves: in text, and within a string of JSON.
struct Plain {
  std::array<bool, 256> text{};
  std::array<bool, 256> json{};

  constexpr Plain() {
    for (std::size_t i = 0x20; i < 0x7f; ++i) json[i] = text[i] = i != '"' && i != '\\';
    text[' '] = false;
  }
};
constexpr Plain kPlain;

std::size_t plain_run(const std::array<bool, 256>& plain, std::string_view value) {
  std::size_t at = 0;
  while (at < value.size() && plain[static_cast<unsigned char>(value[at])]) ++at;
  return at;
}

void append_visible(std::string& out, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (;;) {
    const std::size_t run = plain_run(kPlain.text, value);
    out.append(value.data(), run);
    if (run == value.size()) return;
    const auto byte = static_cast<unsigned char>(value[run]);
    const char escape[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    out.append(escape, sizeof escape);
    value.remove_prefix(run + 1);
  }
}

void append_json_value(std::string& out, std::string_view value) {
  if (plain_run(kPlain.json, value) == value.size()) {
    out += '"';
    out += value;
    out += '"';
  } else {
    append_quoted(out, valid_utf8(value));
  }
}

// A line as `name=value` pairs, each behind a blank.
class TextFields {
 public:
  explicit TextFields(std::string& out) : out_(out) {}

  std::string& name(std::string_view name) {
    out_ += ' ';
    out_ += name;
    out_ += '=';
    return out_;
  }
  void text(std::string_view name_of_it, std::string_view value, bool cut) {
    append_visible(name(name_of_it), value);
    if (cut) out_ += kCut;
  }

 private:
  std::string& out_;
};

// The same as members of an object.
class JsonFields {
 public:
  explicit JsonFields(std::string& out) : out_(out) {}

  std::string& name(std::string_view name) {
    out_ += ",\"";
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view name_of_it, std::string_view value, bool cut) {
    append_json_value(name(name_of_it), value);
    if (cut) out_.insert(out_.size() - 1, kCut);
  }

 private:
  std::string& out_;
};

template <class Fields>
void append_fields(Fields fields, const AccessEntry& entry) {
  const auto text = [&](std::string_view name, std::string_view value,
                        std::size_t longest = AccessLine::kLongestValue) {
    if (!value.empty()) fields.text(name, value.substr(0, longest), value.size() > longest);
  };
  text("client", entry.client);
  text("method", entry.method);
  text("path", entry.path.substr(0, entry.path.find('?')), AccessLine::kLongestPath);
  if (entry.status != 0) append_number(fields.name("status"), entry.status);
  append_number(fields.name("bytes"), entry.bytes_sent);
  append_milliseconds(fields.name("duration_ms"), entry.duration);
  if (entry.first_byte != 0) append_milliseconds(fields.name("first_byte_ms"), entry.first_byte);
  text("worker", entry.worker);
  text("model", entry.model);
  text("tenant", entry.tenant);
  text("error", entry.error_code);
  text("end", name_of(entry.end));
  text("request_id", entry.request_id);
}

}  // namespace

void AccessLine::append(std::string& out, const AccessEntry& entry, std::uint64_t now) {
  if (json_) out += R"({"timestamp":")";
  append_time(out, now);
  if (json_) {
    out += zone_;
    out += R"(","level":"info","type":"access")";
    append_fields(JsonFields(out), entry);
    out += "}\n";
  } else {
    out += " info  access";
    append_fields(TextFields(out), entry);
    out += '\n';
  }
}

void AccessLine::append_time(std::string& out, std::uint64_t now) {
  if (now / 1000 != second_) {
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
  out += date_;
  const auto ms = static_cast<unsigned>(now % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + ms / 100),
                           static_cast<char>('0' + ms / 10 % 10), static_cast<char>('0' + ms % 10)};
  out.append(decimals, sizeof decimals);
}

}  // namespace smg
