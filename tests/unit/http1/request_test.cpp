// Requests with one meaning, and what it is.
#include "agreed.hpp"

namespace {

using namespace smg;
using test::requests;

constexpr const char* kDone = "\ncomplete\n\nneeds more";

std::string get(const std::string& first, const std::string& lines = {}) {
  return requests("GET " + first + "\r\nHost: a\r\n" + lines + "\r\n");
}

std::string expected(const std::string& first, const std::string& fields = {}) {
  return "GET " + first + "\nHost=a\n" + fields + kDone;
}

TEST_CASE("a request without a body is complete behind its head") {
  CHECK(get("/ HTTP/1.1") == expected("/ 1.1"));
}

TEST_CASE("a body with a length is handed on as it comes, and ends at its length") {
  CHECK(requests("POST /v1/chat?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello") ==
        std::string("POST /v1/chat?a=b 1.1 length=5\nHost=a\nContent-Length=5\nhello") + kDone);
}

TEST_CASE("a length may have leading zeros and blanks around it") {
  CHECK(requests("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \t005 \r\n\r\nhello") ==
        std::string("PUT / 1.1 length=5\nHost=a\nContent-Length=005\nhello") + kDone);
  CHECK(get("/ HTTP/1.1", "Content-Length: 0\r\n") ==
        expected("/ 1.1 length=0", "Content-Length=0\n"));
}

TEST_CASE("every known method passes") {
  for (const std::string method : {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    CHECK(requests(method + " / HTTP/1.1\r\nHost: a\r\n\r\n") ==
          method + " / 1.1\nHost=a\n" + kDone);
  }
}

TEST_CASE("blanks and tabs around a value are dropped, those within it and high bytes stay") {
  CHECK(get("/ HTTP/1.1", "A:\tb \t c\t \r\nD:e\r\nF: \xc3\xa9\xff\r\nG:\r\nH: \r\n") ==
        expected("/ 1.1", "A=b \t c\nD=e\nF=\xc3\xa9\xff\nG=\nH=\n"));
}

TEST_CASE("a hundred fields pass") {
  std::string lines;
  std::string fields;
  for (int i = 0; i < 99; ++i) {
    lines += "A: b\r\n";
    fields += "A=b\n";
  }
  CHECK(get("/ HTTP/1.1", lines) == expected("/ 1.1", fields));
}

TEST_CASE("the absolute form is read as path and query") {
  CHECK(get("http://other/x?y HTTP/1.1") == expected("/x?y 1.1"));
  CHECK(get("HTTPS://other:80/ HTTP/1.1") == expected("/ 1.1"));
  CHECK(get("http://other HTTP/1.1") == expected("/ 1.1"));
}

TEST_CASE("OPTIONS may ask about the server as a whole") {
  CHECK(requests("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") ==
        std::string("OPTIONS / 1.1\nHost=a\n") + kDone);
}

TEST_CASE("a connection lasts by default on 1.1 and by wish on 1.0") {
  CHECK(get("/ HTTP/1.1", "Connection: close\r\n") ==
        expected("/ 1.1 close", "Connection=close\n"));
  CHECK(get("/ HTTP/1.1", "Connection: a, CLOSE\r\n") ==
        expected("/ 1.1 close", "Connection=a, CLOSE\n"));
  CHECK(get("/ HTTP/1.0") == expected("/ 1.0 close"));
  CHECK(get("/ HTTP/1.0", "Connection: Keep-Alive\r\n") ==
        expected("/ 1.0", "Connection=Keep-Alive\n"));
  CHECK(get("/ HTTP/1.0", "Connection: keep-alive, close\r\n") ==
        expected("/ 1.0 close", "Connection=keep-alive, close\n"));
}

TEST_CASE("HTTP/1.0 needs no Host") {
  CHECK(requests("GET / HTTP/1.0\r\n\r\n") == std::string("GET / 1.0 close\n") + kDone);
}

TEST_CASE("Expect: 100-continue is seen on 1.1 and has no meaning on 1.0") {
  CHECK(get("/ HTTP/1.1", "Expect: 100-Continue\r\n") ==
        expected("/ 1.1 expect-continue", "Expect=100-Continue\n"));
  CHECK(get("/ HTTP/1.0", "Expect: 100-continue\r\n") ==
        expected("/ 1.0 close", "Expect=100-continue\n"));
}

TEST_CASE("requests may follow each other without a pause, with blank lines between them") {
  CHECK(requests(
            "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\r\n"
            "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\n\r\n"
            "\r\n\r\n\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n") ==
        std::string("POST /1 1.1 length=2\nHost=a\nContent-Length=2\nhi\ncomplete\n"
                    "POST /2 1.1 chunked\nHost=a\nTransfer-Encoding=chunked\nho\ncomplete\n"
                    "GET /3 1.1\nHost=a\n") +
            kDone);
}

TEST_CASE("what is left unfinished asks for more") {
  CHECK(requests("") == "\nneeds more");
  CHECK(requests("\r") == "\nneeds more");
  CHECK(requests("GET / HTTP/1.1\r\nHost: a\r\n\r") == "\nneeds more");
  CHECK(requests("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell") ==
        "POST / 1.1 length=5\nHost=a\nContent-Length=5\nhell\nneeds more");
}

TEST_CASE("a parser that has refused or finished its message takes no more") {
  http1::RequestScratch scratch;
  http1::RequestParser refused(http1::Limits{});
  CHECK(refused.next("\n", 1, scratch).kind == http1::StepKind::error);
  CHECK(refused.next("GET", 3, scratch).kind == http1::StepKind::error);
}

}  // namespace
