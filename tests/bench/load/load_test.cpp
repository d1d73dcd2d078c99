#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "histogram.hpp"
#include "response_reader.hpp"
#include "sse_counter.hpp"

namespace smg::bench {
namespace {

using Result = ResponseReader::Result;

struct Read {
  Result result = Result::kMore;
  int status = 0;
  bool keep_alive = false;
  std::string body;
  std::string rest;
};

Read read_in_pieces(std::string_view wire, std::size_t size) {
  ResponseReader reader;
  Read read;
  while (!wire.empty() && read.result == Result::kMore) {
    auto piece = wire.substr(0, size);
    const auto given = piece.size();
    read.result = reader.feed(piece, [&](std::string_view body) { read.body += body; });
    wire.remove_prefix(given - piece.size());
  }
  if (read.result == Result::kMore) read.result = reader.close();
  read.status = reader.status();
  read.keep_alive = reader.keep_alive();
  read.rest = wire;
  return read;
}

TEST_CASE("a histogram's quantiles are off by less than one percent") {
  Histogram histogram;
  for (std::int64_t i = 1; i <= 100'000; ++i) histogram.record(i * 1'000);
  CHECK(histogram.count() == 100'000);
  CHECK(histogram.quantile_ms(0.5) == doctest::Approx(50).epsilon(0.01));
  CHECK(histogram.quantile_ms(0.99) == doctest::Approx(99).epsilon(0.01));
  CHECK(histogram.quantile_ms(1) == doctest::Approx(100));
  CHECK(histogram.mean_ms() == doctest::Approx(50.0005));
}

TEST_CASE("a histogram takes negative durations as 0 and huge ones as its last bucket") {
  Histogram histogram;
  CHECK(histogram.quantile_ms(0.5) == 0);
  histogram.record(-5);
  CHECK(histogram.max_ms() == 0);
  histogram.record(std::int64_t{1} << 60);
  CHECK(histogram.count() == 2);
  CHECK(histogram.quantile_ms(1) > 4e6);
}

TEST_CASE("a response is read the same however it is cut") {
  const std::string by_length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  const std::string by_chunks =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";
  for (std::size_t size = 1; size < 140; ++size) {
    CAPTURE(size);
    auto read = read_in_pieces(by_length, size);
    CHECK(read.result == Result::kComplete);
    CHECK(read.status == 200);
    CHECK(read.keep_alive);
    CHECK(read.body == "hello");
    read = read_in_pieces(by_chunks + "next", size);
    CHECK(read.result == Result::kComplete);
    CHECK(read.status == 503);
    CHECK_FALSE(read.keep_alive);
    CHECK(read.body == "hello");
    CHECK(read.rest == "next");
  }
}

TEST_CASE("a close ends a body without length and breaks every other") {
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\n\r\nhalf", 99).result == Result::kComplete);
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhalf", 99).result ==
        Result::kBad);
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", 99)
            .result == Result::kBad);
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\n", 99).result == Result::kBad);
}

TEST_CASE("what is not HTTP is bad") {
  CHECK(read_in_pieces("SSH-2.0-server\r\n", 99).result == Result::kBad);
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", 99).result == Result::kBad);
  CHECK(read_in_pieces("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 99).result ==
        Result::kBad);
}

TEST_CASE("tokens are events with text, however the stream is cut") {
  const std::string_view stream =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
      ": comment with \"content\":\"x\"\n\n"
      "data: {\"choices\":[{\"delta\": {\"content\": \"b\"}}]}\r\n\r\n"
      "data: {\"choices\":[{\"delta\":{\"content\":null}}]}\n\n"
      "data: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]\n\n";
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    CAPTURE(size);
    SseCounter counter;
    unsigned tokens = 0;
    CHECK_FALSE(counter.done());
    for (std::size_t at = 0; at < stream.size(); at += size) {
      tokens += counter.feed(stream.substr(at, size));
    }
    CHECK(tokens == 2);
    CHECK(counter.done());
    counter.reset();
    CHECK_FALSE(counter.done());
  }
}

}  // namespace
}  // namespace smg::bench
