// Answers of workers: where they end, what they leave of the connection, and which are refused.
#include <vector>

#include "agreed.hpp"

namespace {

using namespace smg;
using test::last_line;
using test::response;

const std::string kOk = "HTTP/1.1 200 OK\r\n";

TEST_CASE("an answer with a length ends there, and the connection may be used again") {
  CHECK(response(kOk + "Content-Length: 2\r\n\r\n{}") ==
        "200 OK 1.1 length=2\nContent-Length=2\n{}\ncomplete, left over 0");
  CHECK(response(kOk + "Content-Length: 0\r\n\r\n") ==
        "200 OK 1.1 length=0\nContent-Length=0\n\ncomplete, left over 0");
}

TEST_CASE("a chunked answer ends behind its last chunk") {
  CHECK(response(kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n") ==
        "200 OK 1.1 chunked\nTransfer-Encoding=chunked\n{}\ncomplete, left over 0");
}

TEST_CASE("bytes behind an answer stay with the caller") {
  CHECK(last_line(response(kOk + "Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK")) ==
        "complete, left over 15");
}

TEST_CASE(
    "an answer without framing lasts until the end of the stream and uses up the connection") {
  CHECK(response(kOk + "\r\nall of it", {.ends = true}) ==
        "200 OK 1.1 close\nall of it\ncomplete, not reusable, left over 0");
  CHECK(response("HTTP/1.0 200 OK\r\n\r\n", {.ends = true}) ==
        "200 OK 1.0 close\n\ncomplete, not reusable, left over 0");
  CHECK(last_line(response(kOk + "\r\nsome of it")) == "needs more");
}

TEST_CASE("a stream that ends within an answer is an error") {
  for (const std::string& bytes : std::vector<std::string>{
           "", "HTTP/1.1 200", kOk, kOk + "Content-Length: 2\r\n\r\n{",
           kOk + "Transfer-Encoding: chunked\r\n\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\n{",
           kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    CAPTURE(bytes);
    CHECK(last_line(response(bytes, {.ends = true})) == "error 502");
  }
}

TEST_CASE("an answer to HEAD has no body, whatever it announces") {
  CHECK(response(kOk + "Content-Length: 5\r\n\r\n", {.head_request = true}) ==
        "200 OK 1.1 length=5\nContent-Length=5\n\ncomplete, left over 0");
  CHECK(last_line(response(kOk + "Transfer-Encoding: chunked\r\n\r\n", {.head_request = true})) ==
        "complete, left over 0");
  CHECK(last_line(response(kOk + "\r\n", {.head_request = true})) == "complete, left over 0");
  CHECK(last_line(response(kOk + "Connection: close\r\n\r\n", {.head_request = true})) ==
        "complete, not reusable, left over 0");
  CHECK(last_line(response("HTTP/1.1 100 Continue\r\n\r\n" + kOk + "Content-Length: 5\r\n\r\n",
                           {.head_request = true})) == "complete, left over 0");
}

TEST_CASE("204 and 304 have no body; one that announces a body uses up the connection") {
  for (const std::string status : {"204 No Content", "304 Not Modified"}) {
    const std::string first = "HTTP/1.1 " + status + "\r\n";
    CHECK(last_line(response(first + "\r\n")) == "complete, left over 0");
    CHECK(last_line(response(first + "Connection: close\r\n\r\n")) ==
          "complete, not reusable, left over 0");
    CHECK(last_line(response(first + "Content-Length: 5\r\n\r\n")) ==
          "complete, not reusable, left over 0");
    CHECK(last_line(response(first + "Transfer-Encoding: chunked\r\n\r\n")) ==
          "complete, not reusable, left over 0");
  }
}

TEST_CASE("interim answers are skipped") {
  CHECK(response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kOk +
                 "Content-Length: 2\r\n\r\n{}") ==
        "200 OK 1.1 length=2\nContent-Length=2\n{}\ncomplete, left over 0");
}

TEST_CASE("a worker that closes uses up the connection") {
  CHECK(last_line(response(kOk + "Connection: close\r\nContent-Length: 0\r\n\r\n")) ==
        "complete, not reusable, left over 0");
  CHECK(last_line(response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")) ==
        "complete, not reusable, left over 0");
  CHECK(last_line(
            response("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n")) ==
        "complete, left over 0");
}

TEST_CASE("a reason may be empty or hold any text") {
  CHECK(response("HTTP/1.1 429 \r\nContent-Length: 0\r\n\r\n") ==
        "429  1.1 length=0\nContent-Length=0\n\ncomplete, left over 0");
  CHECK(response("HTTP/1.1 599 Caf\xc3\xa9\tclosed\r\nContent-Length: 0\r\n\r\n") ==
        "599 Caf\xc3\xa9\tclosed 1.1 length=0\nContent-Length=0\n\ncomplete, left over 0");
}

TEST_CASE("an answer with more than one reading is refused") {
  for (const std::string& bytes : std::vector<std::string>{
           kOk + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
           kOk + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
           kOk + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
           kOk + "Content-Length: 2, 2\r\n\r\n{}",
           kOk + "Content-Length: +2\r\n\r\n{}",
           kOk + "Content-Length: 9223372036854775808\r\n\r\n{}",
           kOk + "Transfer-Encoding: gzip, chunked\r\n\r\n{}",
           kOk + "Transfer-Encoding: xchunked\r\n\r\n{}",
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           kOk + "X: 1\r\n fold\r\n\r\n",
           kOk + "X: 1\nY: 2\r\n\r\n",
           kOk + "X : 1\r\n\r\n",
           "HTTP/1.1 200 OK\n\n",
           "\r\n" + kOk + "\r\n",
           "HTTP/1.1 200\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 2000 OK\r\n\r\n",
           "HTTP/1.1 +20 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 600 OK\r\n\r\n",
           "HTTP/1.1  200 OK\r\n\r\n",
           "HTTP/1.1 banana\r\n\r\n",
           "HTTP/1.1 200 O\x01K\r\n\r\n",
           "HTTP/1.2 200 OK\r\n\r\n",
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/0.9 200 OK\r\n\r\n",
           "http/1.1 200 OK\r\n\r\n",
           "ICY 200 OK\r\n\r\n",
           "SSH-2.0-OpenSSH\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
           "HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\nx" + kOk + "\r\n",
           "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + kOk + "\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}!\r\n0\r\n\r\n",
           kOk + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
           kOk + std::string(70000, 'x'),
       }) {
    CAPTURE(bytes.substr(0, 80));
    CHECK(last_line(response(bytes)) == "error 502");
  }
}

TEST_CASE("a limit on bodies holds for answers too") {
  http1::Limits limits;
  limits.max_body = 5;
  CHECK(last_line(response(kOk + "Content-Length: 6\r\n\r\n", {.limits = limits})) == "error 502");
  CHECK(last_line(response(kOk + "Content-Length: 5\r\n\r\nhello", {.limits = limits})) ==
        "complete, left over 0");
}

}  // namespace
