#include "host/access_line.hpp"

#include <doctest/doctest.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <boost/json.hpp>
#include <string>

using namespace smg;

namespace {

// 2026-11-30 21:34:00.123 UTC
constexpr std::uint64_t kNow = 1'796'074'440'123;

struct Utc {
  Utc() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
} utc;

AccessEntry full() {
  AccessEntry entry;
  entry.request_id = "chatcmpl-1";
  entry.client = "127.0.0.1";
  entry.method = "POST";
  entry.path = "/v1/chat/completions";
  entry.status = 200;
  entry.bytes_sent = 5123;
  entry.duration = 1'234'567'890;
  entry.first_byte = 45'006'999;
  entry.worker = "http://w:8000";
  entry.model = "llama";
  entry.tenant = "acme";
  entry.error_code = "some_error";
  entry.end = AccessEnd::client_gone;
  return entry;
}

std::string line(const AccessEntry& entry, bool json = false) {
  std::string out;
  AccessLine(json).append(out, entry, kNow);
  return out;
}

boost::json::object object(const AccessEntry& entry) {
  const std::string text = line(entry, true);
  REQUIRE(text.ends_with("}\n"));
  return boost::json::parse(text.substr(0, text.size() - 1)).as_object();
}

}  // namespace

TEST_CASE("a line of text has all that is known of the request") {
  CHECK(line(full()) ==
        "2026-11-30 21:34:00.123 info  access client=127.0.0.1 method=POST "
        "path=/v1/chat/completions status=200 bytes=5123 duration_ms=1234.567 "
        "first_byte_ms=45.006 worker=http://w:8000 model=llama tenant=acme error=some_error "
        "end=client_gone request_id=chatcmpl-1\n");
}

TEST_CASE("a line of JSON has the same, numbers as numbers") {
  CHECK(line(full(), true) ==
        "{\"timestamp\":\"2026-11-30T21:34:00.123+00:00\",\"level\":\"info\",\"type\":\"access\","
        "\"client\":\"127.0.0.1\",\"method\":\"POST\",\"path\":\"/v1/chat/completions\","
        "\"status\":200,\"bytes\":5123,\"duration_ms\":1234.567,\"first_byte_ms\":45.006,"
        "\"worker\":\"http://w:8000\",\"model\":\"llama\",\"tenant\":\"acme\","
        "\"error\":\"some_error\",\"end\":\"client_gone\",\"request_id\":\"chatcmpl-1\"}\n");
}

TEST_CASE("what is not known is left out") {
  AccessEntry entry;
  entry.end = AccessEnd::refused;
  CHECK(line(entry) ==
        "2026-11-30 21:34:00.123 info  access bytes=0 duration_ms=0.000 end=refused\n");
  CHECK(object(entry).size() == 6);
}

TEST_CASE("every end has a name") {
  AccessEntry entry;
  for (const auto& [end, name] :
       {std::pair{AccessEnd::complete, "complete"},
        std::pair{AccessEnd::client_gone, "client_gone"}, std::pair{AccessEnd::cut, "cut"},
        std::pair{AccessEnd::refused, "refused"}}) {
    entry.end = end;
    CHECK(object(entry).at("end").as_string() == name);
  }
}

TEST_CASE("the time goes on with the clock, over a second's end too") {
  AccessLine lines(false);
  std::string out;
  lines.append(out, {}, kNow);
  lines.append(out, {}, kNow + 7);
  lines.append(out, {}, kNow + 59'877);
  CHECK(out.find("2026-11-30 21:34:00.123 ") == 0);
  CHECK(out.find("\n2026-11-30 21:34:00.130 ") != std::string::npos);
  CHECK(out.find("\n2026-11-30 21:35:00.000 ") != std::string::npos);
}

TEST_CASE("a query is never written") {
  AccessEntry entry = full();
  entry.path = "/loads?key=secret";
  for (const bool json : {false, true}) {
    CHECK(line(entry, json).find("secret") == std::string::npos);
    CHECK(line(entry, json).find('?') == std::string::npos);
  }
  CHECK(object(entry).at("path").as_string() == "/loads");
}

TEST_CASE("no byte of a client ends a line or makes a field") {
  AccessEntry entry;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '?') all += static_cast<char>(byte);
  }
  entry.path = all;
  entry.request_id = "a status=200\r\n\x1b[2J\xc3\xa4\"\\";
  const std::string text = line(entry);
  CHECK(text.find('\n') == text.size() - 1);
  for (const char c : text.substr(0, text.size() - 1)) CHECK((c >= 0x20 && c < 0x7f));
  CHECK(text.ends_with(" request_id=a\\x20status=200\\x0d\\x0a\\x1b[2J\\xc3\\xa4\\x22\\x5c\n"));
  CHECK(text.find(" status=") == std::string::npos);
  const std::string json = line(entry, true);
  CHECK(json.find('\n') == json.size() - 1);
  CHECK(object(entry).at("request_id").as_string() == entry.request_id);
}

TEST_CASE("JSON stays valid where the bytes are not UTF-8") {
  AccessEntry entry;
  entry.model = "\xffmodel\xc3";
  CHECK(object(entry).at("model").as_string() == "\xef\xbf\xbdmodel\xef\xbf\xbd");
}

TEST_CASE("long values are cut") {
  AccessEntry entry;
  const std::string path(AccessLine::kLongestPath, 'p');
  const std::string id(AccessLine::kLongestValue, 'i');
  entry.path = path;
  entry.request_id = id;
  CHECK(object(entry).at("path").as_string() == path);
  CHECK(object(entry).at("request_id").as_string() == id);
  const std::string longer_path = path + "x";
  const std::string longer_id = id + "x";
  entry.path = longer_path;
  entry.request_id = longer_id;
  CHECK(object(entry).at("path").as_string() == path + "...");
  CHECK(object(entry).at("request_id").as_string() == id + "...");
  CHECK(line(entry).ends_with(" request_id=" + id + "...\n"));
}

TEST_CASE("whatever a client sends, a line goes into a pipe in one piece") {
  for (const std::string value : {"\"", "\x01", "\x7f", "\xff", "\xc3\xa4", "x"}) {
    std::string longer;
    while (longer.size() < 2 * AccessLine::kLongestPath) longer += value;
    AccessEntry entry = full();
    for (auto* field : {&entry.request_id, &entry.client, &entry.method, &entry.path, &entry.worker,
                        &entry.model, &entry.tenant, &entry.error_code}) {
      *field = longer;
    }
    entry.bytes_sent = entry.duration = entry.first_byte = UINT64_MAX;
    entry.status = UINT32_MAX;
    CHECK(line(entry).size() <= PIPE_BUF);
    CHECK(line(entry, true).size() <= PIPE_BUF);
    CHECK(line(entry).ends_with("...\n"));
    CHECK(object(entry).at("path").as_string().ends_with("..."));
  }
}

TEST_CASE("an escape is written whole or not at all") {
  AccessEntry entry;
  const std::string id = std::string(AccessLine::kLongestValue - 3, 'i') + "\x01";
  entry.request_id = id;
  CHECK(line(entry).ends_with(" request_id=" + id.substr(0, id.size() - 1) + "...\n"));
  CHECK(object(entry).at("request_id").as_string() == id.substr(0, id.size() - 1) + "...");
  entry.request_id = std::string_view(id).substr(1);
  CHECK(line(entry).ends_with("i\\x01\n"));
}
