#include "host/routing/request/body_error.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

namespace smg {
namespace {

BodyError error(BodyFault fault, Extractor extractor) {
  return {fault, extractor, "why \"so\""};
}

}  // namespace

TEST_CASE("validated endpoints answer in JSON") {
  for (const auto& [fault, message] :
       {std::pair{BodyFault::malformed, "JSON syntax error: why \"so\""},
        {BodyFault::wrong_shape, "Invalid JSON data: why \"so\""},
        {BodyFault::grew_too_large, "Failed to parse JSON: why \"so\""}}) {
    const BodyError e = error(fault, Extractor::validated);
    CHECK(e.status() == 400);
    CHECK(e.content_type() == "application/json");
    const auto body = boost::json::parse(e.body()).as_object().at("error").as_object();
    CHECK(body.size() == 3);
    CHECK(body.at("message").as_string() == message);
    CHECK(body.at("type").as_string() == "invalid_request_error");
    CHECK(body.at("code").as_string() == "json_parse_error");
  }
}

TEST_CASE("a value that is not allowed has the number 400 as its code") {
  const BodyError e = error(BodyFault::bad_value, Extractor::validated);
  CHECK(e.status() == 400);
  CHECK(e.body() ==
        R"({"error":{"message":"why \"so\"","type":"invalid_request_error","code":400}})");
}

TEST_CASE("plain endpoints answer in text with their own statuses") {
  for (const auto& [fault, status] : {std::pair{BodyFault::malformed, 400u},
                                      {BodyFault::wrong_shape, 422u},
                                      {BodyFault::content_type, 415u},
                                      {BodyFault::too_large, 413u},
                                      {BodyFault::grew_too_large, 413u},
                                      {BodyFault::unreadable, 400u}}) {
    const BodyError e = error(fault, Extractor::plain);
    CHECK(e.status() == status);
    CHECK(e.content_type() == "text/plain; charset=utf-8");
    CHECK(e.body().find("why \"so\"") != std::string::npos);
  }
}

TEST_CASE("a body announced too large is 413 everywhere") {
  CHECK(error(BodyFault::too_large, Extractor::validated).status() == 413);
}

TEST_CASE("the endpoint decides the extractor") {
  for (const std::uint32_t endpoint :
       {SMG_ENDPOINT_GENERATE, SMG_ENDPOINT_EMBEDDINGS, SMG_ENDPOINT_CLASSIFY}) {
    CHECK(extractor_of(endpoint) == Extractor::plain);
  }
  for (const std::uint32_t endpoint :
       {SMG_ENDPOINT_CHAT, SMG_ENDPOINT_COMPLETIONS, SMG_ENDPOINT_MESSAGES, SMG_ENDPOINT_RESPONSES,
        SMG_ENDPOINT_RERANK}) {
    CHECK(extractor_of(endpoint) == Extractor::validated);
  }
}

TEST_CASE("content types that say JSON") {
  for (const char* yes :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        " application/json ;x=y", "application/vnd.api+json", "APPLICATION/x+Json;v=1"}) {
    CAPTURE(yes);
    CHECK(is_json_content_type(yes));
  }
  for (const char* no :
       {"", "text/json", "text/plain", "application/jsonl", "application/+json",
        "application/json+x", "application", "application/", "application/xml",
        "application/json, text/plain", "xapplication/json", "application/a b+json"}) {
    CAPTURE(no);
    CHECK_FALSE(is_json_content_type(no));
  }
}

TEST_CASE("a missing content type is refused in the extractor's way") {
  CHECK_FALSE(check_content_type(Extractor::plain, "application/json"));
  CHECK(check_content_type(Extractor::plain, "").status() == 415);
  const BodyError e = check_content_type(Extractor::validated, "text/plain");
  CHECK(e.status() == 400);
  CHECK(
      e.body() ==
      R"({"error":{"message":"Missing Content-Type: application/json header","type":"invalid_request_error","code":"json_parse_error"}})");
}

}  // namespace smg
