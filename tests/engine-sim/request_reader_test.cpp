#include "request_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace smg::sim;

namespace {

struct Outcome {
  bool error = false;
  std::vector<std::string> bodies;
  bool operator==(const Outcome&) const = default;
};

Outcome read_all(std::string_view wire, std::size_t piece) {
  RequestReader reader;
  Outcome outcome;
  for (std::size_t at = 0; at < wire.size() && !outcome.error; at += piece) {
    std::string_view input = wire.substr(at, piece);
    while (!input.empty()) {
      RequestReader::Event event = reader.feed(input);
      if (event == RequestReader::Event::Head) event = reader.feed(input);
      if (event == RequestReader::Event::Complete) {
        outcome.bodies.push_back(reader.request().body);
        reader.reset();
      } else if (event == RequestReader::Event::Error) {
        outcome.error = true;
        break;
      }
    }
  }
  return outcome;
}

Outcome read(std::string_view wire) {
  const Outcome whole = read_all(wire, wire.size());
  for (const std::size_t piece : {1, 2, 3, 7, 20}) CHECK(read_all(wire, piece) == whole);
  return whole;
}

const std::string kStart = "POST /v1/x?a=b HTTP/1.1\r\nHost: e\r\n";

}  // namespace

TEST_CASE("a request is read alike in any split") {
  CHECK(read("GET / HTTP/1.1\r\nHost: e\r\n\r\n").bodies == std::vector<std::string>{""});
  CHECK(read(kStart + "Content-Length: 5\r\n\r\nhello").bodies ==
        std::vector<std::string>{"hello"});
  CHECK(
      read(kStart +
           "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n")
          .bodies == std::vector<std::string>{"abc0123456789"});
}

TEST_CASE("requests that follow each other are read in order") {
  const Outcome outcome =
      read(kStart + "Content-Length: 1\r\n\r\na" + kStart +
           "Transfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n" + kStart + "\r\n");
  CHECK(outcome.bodies == std::vector<std::string>{"a", "b", ""});
}

TEST_CASE("whatever can be understood in two ways is refused") {
  const std::vector<std::string> wires = {
      kStart + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: xchunked\r\n\r\n",
      kStart + "Transfer-Encoding: gzip, chunked\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      kStart + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
      kStart + "Content-Length: 5,5\r\n\r\nabcde",
      kStart + "Content-Length: +5\r\n\r\nabcde",
      kStart + "Content-Length:\r\n\r\n",
      kStart + "Content-Length: 18446744073709551616\r\n\r\n",
      kStart + " folded: 1\r\n\r\n",
      kStart + "Name : 1\r\n\r\n",
      kStart + "No colon\r\n\r\n",
      kStart + ": empty\r\n\r\n",
      kStart + "X: a\x01z\r\n\r\n",
      kStart + "X: a\rb\r\n\r\n",
      kStart + "X: a\n\r\n",
      "POST / HTTP/1.1\nHost: e\n\n",
      "POST / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
      "POST  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/2.0\r\nHost: a\r\n\r\n",
      "POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "PO ST / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\r\nPOST / HTTP/1.1\r\nHost: a\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n 1\r\na\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
      kStart + "Transfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
  };
  for (const std::string& wire : wires) {
    CAPTURE(wire);
    const Outcome outcome = read(wire);
    CHECK(outcome.error);
    CHECK(outcome.bodies.empty());
  }
}

TEST_CASE("the parts of a head are found") {
  RequestReader reader;
  const std::string wire = kStart + "X-Y:\t v w \r\nConnection: close\r\n\r\n";
  std::string_view input = wire;
  REQUIRE(reader.feed(input) == RequestReader::Event::Head);
  const Request& request = reader.request();
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/x?a=b");
  CHECK(request.path == "/v1/x");
  CHECK(request.query == "a=b");
  CHECK(request.header("x-y") == "v w");
  CHECK_FALSE(request.keep_alive);
}
