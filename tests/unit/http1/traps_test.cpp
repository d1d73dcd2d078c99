// What the library below would do by itself, or makes easy to get wrong: each once went wrong.
#include <cstdlib>
#include <new>

#include "agreed.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using namespace smg;
using test::last_line;
using test::Pieces;
using test::requests;
using test::response;

const std::string kChunkedRequest =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kChunkedAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

bool within(std::string_view part, std::string_view all) {
  return part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size();
}

TEST_CASE("a limit on the head bounds the sum of its pieces, not each piece") {
  http1::Limits limits;
  limits.max_head = 16 * 1024;
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  while (head.size() < 1'300'000) head += "X: " + std::string(900, 'y') + "\r\n";
  CHECK(last_line(test::transcribe_requests(head + "\r\n", Pieces::of(1000), limits)) ==
        "error 431");
}

TEST_CASE("an empty chunked body may come in any two pieces") {
  const std::string bytes = kChunkedRequest + "0\r\n\r\n";
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    CAPTURE(cut);
    http1::RequestParser parser(http1::Limits{});
    http1::RequestScratch scratch;
    std::size_t done = 0;
    http1::Step step;
    for (const std::size_t to : {cut, bytes.size()}) {
      do {
        step = parser.next(bytes.data() + done, to - done, scratch);
        done += step.consumed;
        REQUIRE(step.kind != http1::StepKind::error);
      } while (step.kind == http1::StepKind::head);
    }
    CHECK(step.kind == http1::StepKind::complete);
    CHECK(done == bytes.size());
  }
}

TEST_CASE("a stream of many chunks is not cut off at some sum") {
  http1::ResponseParser parser(http1::Limits{}, false);
  http1::ResponseScratch scratch;
  REQUIRE(parser.next(kChunkedAnswer.data(), kChunkedAnswer.size(), scratch).kind ==
          http1::StepKind::head);
  const std::string piece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  std::string shown = piece.substr(0, piece.size() - 2);
  for (int i = 0; i < 200; ++i) {
    const http1::Step step = parser.next(shown.data(), shown.size(), scratch);
    REQUIRE(step.kind == http1::StepKind::body);
    REQUIRE(step.body.size() == 0x10000);
    REQUIRE(step.consumed == shown.size());
    if (i == 0) shown = "\r\n" + shown;
  }
}

TEST_CASE("the line end behind a chunk is asked for again together with what follows") {
  http1::ResponseParser parser(http1::Limits{}, false);
  http1::ResponseScratch scratch;
  const std::string bytes = kChunkedAnswer + "2\r\n{}\r\n";
  http1::Step step = parser.next(bytes.data(), bytes.size(), scratch);
  std::size_t done = step.consumed;
  step = parser.next(bytes.data() + done, bytes.size() - done, scratch);
  CHECK(step.body == "{}");
  done += step.consumed;
  step = parser.next(bytes.data() + done, bytes.size() - done, scratch);
  CHECK(step.kind == http1::StepKind::need_more);
  CHECK(step.consumed == 0);
  CHECK(bytes.size() - done == 2);
  const std::string end = "\r\n0\r\n\r\n";
  CHECK(parser.next(end.data(), end.size(), scratch).kind == http1::StepKind::complete);
}

TEST_CASE("the fields of a head that came in pieces are valid together, in the caller's bytes") {
  const std::string bytes = "POST /x HTTP/1.1\r\nHost: a\r\nA: b\r\nContent-Length: 2\r\n\r\n{}";
  http1::RequestParser parser(http1::Limits{});
  http1::RequestScratch scratch;
  http1::Step step;
  std::size_t shown = 0;
  do {
    step = parser.next(bytes.data(), ++shown, scratch);
    if (step.kind == http1::StepKind::need_more) REQUIRE(step.consumed == 0);
  } while (step.kind == http1::StepKind::need_more);
  REQUIRE(step.kind == http1::StepKind::head);
  CHECK(step.consumed == bytes.size() - 2);
  CHECK(scratch.head.fields.size() == 3);
  CHECK(within(scratch.head.method, bytes));
  CHECK(within(scratch.head.target, bytes));
  for (const http1::Field& field : scratch.head.fields) {
    CHECK(within(field.name, bytes));
    CHECK(within(field.value, bytes));
  }
  const http1::Step body = parser.next(bytes.data() + step.consumed, 2, scratch);
  CHECK(body.body == "{}");
  CHECK(within(body.body, bytes));
}

TEST_CASE("nothing of a message leaks into the next one") {
  CHECK(requests("POST /1 HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na"
                 "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n") ==
        "POST /1 1.0 length=1\nConnection=keep-alive\nContent-Length=1\na\ncomplete\n"
        "GET /2 1.1\nHost=a\n\ncomplete\n\nneeds more");
  CHECK(response("HTTP/1.1 103 Early Hints\r\nConnection: close\r\nA: b\r\n\r\n"
                 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") ==
        "200 OK 1.1 length=0\nContent-Length=0\n\ncomplete, left over 0");
}

TEST_CASE("a parser is small and allocates nothing") {
  CHECK(sizeof(http1::RequestParser) <= 200);
  CHECK(sizeof(http1::ResponseParser) <= 200);
  const std::string request = kChunkedRequest + "5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n";
  http1::RequestScratch scratch;
  const std::size_t before = allocations;
  http1::RequestParser parser(http1::Limits{});
  std::size_t done = 0;
  http1::Step step;
  do {
    step = parser.next(request.data() + done, request.size() - done, scratch);
    done += step.consumed;
  } while (step.kind == http1::StepKind::head || step.kind == http1::StepKind::body);
  http1::RequestParser refusing(http1::Limits{});
  const http1::Step refused = refusing.next("get / HTTP/1.1\r\n\r\n", 18, scratch);
  const std::size_t after = allocations;
  CHECK(step.kind == http1::StepKind::complete);
  CHECK(refused.kind == http1::StepKind::error);
  CHECK(after == before);
}

TEST_CASE("a carriage return in the middle of a line ends a head that is not complete yet") {
  // requests() and response() try every way to split and want one verdict.
  CHECK(last_line(requests("GET / HTTP/1.1\r\nA: b\rc\r\n")) == "error 400");
  CHECK(last_line(requests("GET / HTTP/1.1\r\nA: b\r\r\nD: e\r\n")) == "error 400");
  CHECK(last_line(response("HTTP/1.1 200 OK\r\n\r1.1 x\r\nal")) == "error 502");
}

TEST_CASE("a first chunk may begin with a line end, however it comes") {
  for (const std::string data : {"\n", "\r", "\n\n", "\r\r", "\n\r\n", "\r\n\r\n"}) {
    CAPTURE(data);
    const std::string chunks = std::to_string(data.size()) + "\r\n" + data + "\r\n0\r\n\r\n";
    CHECK(requests(kChunkedRequest + chunks).find(data + "\ncomplete") != std::string::npos);
    CHECK(response(kChunkedAnswer + chunks).find(data + "\ncomplete") != std::string::npos);
    CHECK(last_line(requests(kChunkedRequest + std::to_string(data.size()) + "\r\n" + data)) ==
          "needs more");
  }
  CHECK(last_line(requests(kChunkedRequest + "1\n")) == "error 400");
  CHECK(last_line(requests(kChunkedRequest + "1\ra")) == "error 400");
}

TEST_CASE("a head that comes byte by byte is looked at once") {
  // The bytes before those that are new are gone over again neither by us nor by the library below:
  // a change in them that would be refused at once goes unnoticed until the head is complete.
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n";
  http1::RequestParser parser(http1::Limits{});
  http1::RequestScratch scratch;
  REQUIRE(parser.next(bytes.data(), bytes.size(), scratch).kind == http1::StepKind::need_more);
  bytes[bytes.find("\r\nHost")] = 'x';
  bytes += "Y";
  CHECK(parser.next(bytes.data(), bytes.size(), scratch).kind == http1::StepKind::need_more);
  bytes += ": z\r\n\r\n";
  CHECK(parser.next(bytes.data(), bytes.size(), scratch).kind == http1::StepKind::error);
}

}  // namespace
