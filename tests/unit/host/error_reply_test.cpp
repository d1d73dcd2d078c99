#include "host/routing/error_reply.hpp"

#include <doctest/doctest.h>

using namespace smg;

TEST_CASE("an error has the gateway's shape, its type is the reason phrase") {
  CHECK(error_body(503, "no_available_workers", "none \"left\"\n") ==
        R"({"error":{"type":"Service Unavailable","code":"no_available_workers",)"
        R"("message":"none \"left\"\u000a","param":null}})");
}

TEST_CASE("an overload shed is a server_error") {
  CHECK(error_body(503, "worker_overload_protection_shed", "m").find(R"("type":"server_error")") !=
        std::string::npos);
}

TEST_CASE("what is not UTF-8 becomes the replacement character") {
  std::string out;
  append_json_string(out, "a\xff\xc3\xa9\xed\xa0\x80\xf0\x9f\x9a\x80\xc3");
  CHECK(
      out ==
      "\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x9a\x80\xef\xbf\xbd\"");
}
