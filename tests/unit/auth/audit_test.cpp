#include "host/auth/audit.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>

using namespace smg;

namespace {

std::string field(const AuditRecord& record, std::string_view name) {
  const auto line = boost::json::parse(audit_line(record, 0));
  const auto& text = line.at(boost::json::string_view(name.data(), name.size())).as_string();
  return {text.data(), text.size()};
}

}  // namespace

TEST_CASE("3.10.7 a record is one line of JSON with all its fields") {
  const AuditRecord record{.principal = "ops",
                           .auth_method = "api_key",
                           .role = "admin",
                           .method = "DELETE",
                           .path = "/workers/7",
                           .resource = "7",
                           .success = true,
                           .request_id = "req-1",
                           .details = ""};
  CHECK(audit_line(record, 1'793'000'000'123) ==
        R"({"timestamp":"2026-10-26T06:13:20.123Z","principal":"ops","auth_method":"api_key",)"
        R"("role":"admin","method":"DELETE","path":"/workers/7","resource":"7",)"
        R"("outcome":"success","request_id":"req-1","details":""})");
  CHECK(field({.success = false}, "outcome") == "denied");
}

TEST_CASE("3.10.7 control characters are escaped, quotes too, and the line stays one line") {
  const std::string hostile = std::string("a\nb\r\t\"\\\x1b[0m\x7f", 14) + "\xc2\x85" + '\0';
  const std::string line = audit_line({.principal = hostile, .path = hostile}, 0);
  for (const char c : line) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  CHECK(line.find("\xc2\x85") == std::string::npos);
  CHECK(line.find("\\u000a") != std::string::npos);
  CHECK(field({.principal = hostile}, "principal") == hostile);
}

TEST_CASE("3.10.7 a field has 1024 characters at most, and none of them is cut") {
  CHECK(field({.path = std::string(1024, 'x')}, "path").size() == 1024);
  CHECK(field({.path = std::string(5000, 'x')}, "path").size() == 1024);
  std::string wide;
  for (int i = 0; i < 2000; ++i) wide += "\xf0\x9f\x98\x80";
  CHECK(field({.path = wide}, "path") == wide.substr(0, 4096));
}

TEST_CASE("3.10.7 bytes that are not UTF-8 do not break the line") {
  CHECK(field({.request_id = "a\xff\xc0z"}, "request_id").starts_with("a\xef\xbf\xbd"));
}
