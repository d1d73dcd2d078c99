#include "host/auth/http_get.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>

#include "local_server.hpp"

using namespace smg;
using test::LocalServer;

namespace {

Document fetch(const std::string& url) {
  HttpGet http;
  std::optional<Document> document;
  http.get(url, [&](Document got) { document = std::move(got); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!document && std::chrono::steady_clock::now() < end) http.run();
  REQUIRE(document);
  return *document;
}

Document answered(const std::string& answer) {
  const LocalServer server([&](const std::string&) { return answer; });
  return fetch(server.url("/keys"));
}

}  // namespace

TEST_CASE("a document is fetched") {
  std::string path;
  {
    const LocalServer server([&](const std::string& asked) {
      path = asked;
      return LocalServer::ok("{}");
    });
    const Document document = fetch(server.url("/a/b?c"));
    CHECK(document.error.empty());
    CHECK(document.body == "{}");
  }
  CHECK(path == "/a/b?c");
}

TEST_CASE("anything but 200 is an error that says so, a redirect too") {
  CHECK(answered("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").error ==
        "the answer has status 404");
  CHECK(answered("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
            .error == "the answer has status 302");
}

TEST_CASE("a document without end is given up") {
  const std::string error =
      answered("HTTP/1.1 200 OK\r\n\r\n" + std::string(2 * HttpGet::kMostBytes, 'x')).error;
  CHECK(error == "the answer has more than 262144 bytes");
  CHECK(answered(LocalServer::ok(std::string(HttpGet::kMostBytes, 'x'))).error.empty());
}

TEST_CASE("an answer that is none, or cut, is an error") {
  CHECK_FALSE(answered("hello").error.empty());
  CHECK_FALSE(answered("").error.empty());
  CHECK_FALSE(answered("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}").error.empty());
}

TEST_CASE("what cannot be reached or is no HTTP is an error, not an exception") {
  CHECK_FALSE(fetch("http://127.0.0.1:1/").error.empty());
  CHECK_FALSE(fetch("file:///etc/passwd").error.empty());
  CHECK_FALSE(fetch("ftp://127.0.0.1/").error.empty());
  CHECK_FALSE(fetch("").error.empty());
  CHECK_FALSE(fetch("http://").error.empty());
}

TEST_CASE("a certificate that nobody known has signed is refused") {
  const LocalServer server([](const std::string&) { return LocalServer::ok("{}"); });
  CHECK_FALSE(fetch("https" + server.url().substr(4)).error.empty());
}

TEST_CASE("a wake ends the waiting, and what is on its way may be dropped") {
  HttpGet http;
  bool told = false;
  http.wake();
  http.run();
  const LocalServer server([](const std::string&) { return LocalServer::ok("{}"); });
  http.get(server.url(), [&](const Document&) { told = true; });
  CHECK_FALSE(told);
}
