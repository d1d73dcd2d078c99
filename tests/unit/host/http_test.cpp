#include <doctest/doctest.h>

#include "host/base/views.hpp"
#include "host/http/cors.hpp"
#include "host/http/request_id.hpp"
#include "host/http/response_head.hpp"
#include "host/http/routes.hpp"

using namespace smg;

namespace {

smg_header field(std::string_view name, std::string_view value) {
  return {view(name), view(value)};
}

}  // namespace

TEST_CASE("every route is found by its method, GET routes by HEAD as well") {
  for (const Route& route : all_routes()) {
    CHECK(find_route(route.method, route.path).route == &route);
  }
  CHECK(find_route("HEAD", "/health").route != nullptr);
  CHECK(find_route("HEAD", "/v1/completions").route == nullptr);
  CHECK(find_route("GET", "/v1/completions").path_known);
  CHECK_FALSE(find_route("GET", "/v1/completion").path_known);
}

TEST_CASE("a relayed head drops hop-by-hop fields and collapses duplicates to the last") {
  const smg_header headers[] = {field("Connection", "close"),      field("X-A", "1"),
                                field("content-length", "9"),      field("x-a", "2"),
                                field("X-SMG-ERROR-CODE", "shed"), field("Server", "engine")};
  ReplyContext context;
  context.request_id = "id";
  std::string out;
  const Framing framing = append_relayed_head(
      out, {.status = 200, .headers = headers, .content_length = 5, .worker_url = "http://w"},
      context);
  CHECK(framing == Framing::length);
  CHECK(out ==
        "HTTP/1.1 200 OK\r\nx-a: 2\r\nServer: engine\r\nx-smg-routed-worker-id: http://w\r\n"
        "x-request-id: id\r\ncontent-length: 5\r\n\r\n");
}

TEST_CASE("an answer of unknown length is chunked, and for HTTP/1.0 ends with the connection") {
  ReplyContext context;
  std::string out;
  CHECK(append_relayed_head(out, {.status = 200}, context) == Framing::chunked);
  CHECK(context.keep_alive);
  context.http10 = true;
  out.clear();
  CHECK(append_relayed_head(out, {.status = 200}, context) == Framing::until_close);
  CHECK_FALSE(context.keep_alive);
  CHECK(out.find("connection: close\r\n") != std::string::npos);
}

TEST_CASE("answers without a body have no length") {
  for (const std::uint32_t status : {204u, 304u}) {
    ReplyContext context;
    std::string out;
    CHECK(append_relayed_head(out, {.status = status}, context) == Framing::none);
    CHECK(out.find("content-length") == std::string::npos);
    CHECK(out.find("transfer-encoding") == std::string::npos);
  }
}

TEST_CASE("the answer to HEAD has the length and not the body") {
  ReplyContext context;
  context.head_only = true;
  std::string out;
  append_reply(out, {.status = 200, .body = "OK"}, context);
  CHECK(out == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n");
}

TEST_CASE("request ids: the first configured header that is there wins, else one is made") {
  Random random(1);
  const std::vector<std::string> names{"x-request-id", "request-id"};
  const http1::Field fields[] = {{"Request-Id", "second"}, {"X-Request-ID", "first"}};
  std::string id;
  choose_request_id(id, fields, names, "/generate", random);
  CHECK(id == "first");
  for (const auto& [path, prefix] : {std::pair{"/v1/chat/completions", "chatcmpl-"},
                                     {"/v1/completions", "cmpl-"},
                                     {"/generate", "gnt-"},
                                     {"/v1/responses", "resp-"},
                                     {"/v1/messages", "msg_"},
                                     {"/health", "req-"}}) {
    id.clear();
    choose_request_id(id, {}, names, path, random);
    CHECK(id.starts_with(prefix));
    CHECK(id.size() == std::string_view(prefix).size() + 24);
  }
}

TEST_CASE("an id that is empty or cannot stand in a header is passed over") {
  Random random(1);
  const http1::Field fields[] = {
      {"x-request-id", "bad\xc3\xa9"}, {"x-request-id", ""}, {"request-id", "good"}};
  std::string id;
  choose_request_id(id, fields, {"x-request-id", "request-id"}, "/", random);
  CHECK(id == "good");
}
