// Chunked bodies: what they carry, and which framing is refused.
#include <vector>

#include "agreed.hpp"

namespace {

using namespace smg;
using namespace std::string_literals;
using test::last_line;
using test::requests;

const std::string kHead = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kSeen = "POST / 1.1 chunked\nHost=a\nTransfer-Encoding=chunked\n";

std::string body_of(const std::string& body, const http1::Limits& limits = {}) {
  const std::string transcript = requests(kHead + body, limits);
  REQUIRE(transcript.starts_with(kSeen));
  return transcript.substr(kSeen.size());
}

std::string verdict(const std::string& body, const http1::Limits& limits = {}) {
  return last_line(body_of(body, limits));
}

constexpr const char* kDone = "\ncomplete\n\nneeds more";

TEST_CASE("chunks are joined") {
  CHECK(body_of("5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n") ==
        "hello 0123456789"s + kDone);
}

TEST_CASE("an empty chunked body is complete") {
  CHECK(body_of("0\r\n\r\n") == kDone);
}

TEST_CASE("a chunk may hold what looks like framing") {
  CHECK(body_of("7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n") == "\r\n0\r\n\r\n"s + kDone);
}

TEST_CASE("sizes may be in either case and have leading zeros") {
  CHECK(body_of("000a\r\n0123456789\r\nB\r\n0123456789a\r\n000\r\n\r\n") ==
        "01234567890123456789a"s + kDone);
}

TEST_CASE("the name of the encoding may be in any case") {
  CHECK(
      requests(
          "POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: ChunKed\r\n\r\n1\r\na\r\n0\r\n\r\n") ==
      "POST / 1.1 chunked\nHost=a\nTRANSFER-ENCODING=ChunKed\na"s + kDone);
}

TEST_CASE("legal chunk extensions are skipped") {
  CHECK(body_of("5;a\r\nhello\r\n1;b=c;d=\"e\\\" ;f\"\r\n!\r\n1 ; g = "
                "h\r\n!\r\n0;i=\"\xc3\xa9\t\"\r\n\r\n") == "hello!!"s + kDone);
}

TEST_CASE("framing with bare line ends is refused as soon as it is seen") {
  for (const char* const body :
       {"5\nhello", "5\n", "5\rhello", "1\r\na\n0\r\n\r\n", "1\r\na\r\n0\n\n", "1\r\na\r\n0\r\n\n",
        "1\r\na\r\n0\r\nA: b\n\n", "1\r\na\r\n0\r\nA: b\r\n\n", "0\n\n"}) {
    CAPTURE(body);
    CHECK(verdict(body) == "error 400");
  }
}

TEST_CASE("trailers are dropped, whatever they say") {
  CHECK(body_of("1\r\na\r\n0\r\nX-Checksum: 1\r\nConnection: close\r\nHost: b\r\n\r\n") ==
        "a"s + kDone);
}

TEST_CASE("framing with more than one reading is refused") {
  for (const std::string& body : {
           "+5\r\nhello\r\n0\r\n\r\n"s,
           "-5\r\nhello\r\n0\r\n\r\n"s,
           "0x5\r\nhello\r\n0\r\n\r\n"s,
           " 5\r\nhello\r\n0\r\n\r\n"s,
           "5 \r\nhello\r\n0\r\n\r\n"s,
           "5z\r\nhello\r\n0\r\n\r\n"s,
           "5 z\r\nhello\r\n0\r\n\r\n"s,
           "five\r\nhello\r\n0\r\n\r\n"s,
           "\r\nhello\r\n0\r\n\r\n"s,
           "\r\n5\r\nhello\r\n0\r\n\r\n"s,
           "5\nhello\r\n0\r\n\r\n"s,
           "5\rhello\r\n0\r\n\r\n"s,
           "5\r\r\nhello\r\n0\r\n\r\n"s,
           "5\r\nhello\n0\r\n\r\n"s,
           "5\r\nhello\r0\r\n\r\n"s,
           "5\r\nhello0\r\n\r\n"s,
           "5\r\nhello!\r\n0\r\n\r\n"s,
           "5\r\nhell\r\n0\r\n\r\n"s,
           "5\r\nhello\r\n\r\n0\r\n\r\n"s,
           "5;\r\nhello\r\n0\r\n\r\n"s,
           "5;=a\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\r\nhello\r\n0\r\n\r\n"s,
           "5;a b\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\"\\\n\"\r\nhello\r\n0\r\n\r\n"s,
           "5;a=\"\0\"\r\nhello\r\n0\r\n\r\n"s,
           "0;a=\"\n\"\r\n\r\n"s,
           "0 \r\n\r\n"s,
           "0\r\nnonsense\r\n\r\n"s,
           "0\r\nA : b\r\n\r\n"s,
           "0\r\n: b\r\n\r\n"s,
           "0\r\nA: b\nC: d\r\n\r\n"s,
           "0\r\nA: b\rC: d\r\n\r\n"s,
           "0\r\nA: b\0\r\n\r\n"s,
           "0\r\nA: b\r\n c\r\n\r\n"s,
           "0\r\nA:\r\n\tc\r\n\r\n"s,
           "0\r\nA: b\r\n \r\n\r\n"s,
           "1\r\na\r\n0\r\nA: b\r\n c\r\n\r\n"s,
           "0\r\nContent-Length: 5\r\n\r\n"s,
           "0\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           "10000000000000000\r\n"s,
           "fffffffffffffffff\r\n"s,
       }) {
    CAPTURE(body);
    CHECK(verdict(body) == "error 400");
  }
}

TEST_CASE("a body that is announced larger than allowed is refused before it comes") {
  http1::Limits limits;
  limits.max_body = 8;
  CHECK(body_of("5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n", limits) == "helloabc"s + kDone);
  CHECK(body_of("5\r\nhello\r\n4\r\n", limits) == "hello\nerror 413");
  CHECK(body_of("7fffffffffffffff\r\n", limits) == "\nerror 413");
  CHECK(body_of("ffffffffffffffff\r\n") == "\nerror 413");
}

TEST_CASE("a chunk line of the largest size passes, one byte more does not") {
  http1::Limits limits;
  limits.max_chunk_line = 40;
  const std::string end = "\r\n0\r\n\r\n";
  CHECK(body_of("1;" + std::string(36, 'x') + "\r\na" + end, limits) == "a"s + kDone);
  CHECK(verdict("1;" + std::string(37, 'x') + "\r\na" + end, limits) == "error 400");
  CHECK(body_of("1\r\na\r\n1;" + std::string(36, 'x') + "\r\nb" + end, limits) == "ab"s + kDone);
  CHECK(verdict("1\r\na\r\n1;" + std::string(37, 'x') + "\r\nb" + end, limits) == "error 400");
  CHECK(verdict("0;" + std::string(37, 'x') + "\r\n\r\n", limits) == "error 400");
  CHECK(verdict(std::string(39, '0') + "\r\n\r\n", limits) == "error 400");
}

TEST_CASE("trailers of the largest size pass, one byte more does not") {
  http1::Limits limits;
  limits.max_trailers = 40;
  CHECK(body_of("0\r\nA: " + std::string(33, 'x') + "\r\n\r\n", limits) == kDone);
  CHECK(verdict("0\r\nA: " + std::string(34, 'x') + "\r\n\r\n", limits) == "error 400");
}

TEST_CASE("more than a hundred trailers are refused") {
  std::string trailers;
  for (int i = 0; i < 100; ++i) trailers += "A: b\r\n";
  CHECK(body_of("0\r\n" + trailers + "\r\n") == kDone);
  CHECK(verdict("0\r\n" + trailers + "A: b\r\n\r\n") == "error 400");
}

TEST_CASE("framing that never ends is refused, however little of it stays unconsumed at a time") {
  CHECK(verdict("5;" + std::string(9000, 'x')) == "error 400");
  CHECK(verdict(std::string(9000, '0')) == "error 400");
  CHECK(verdict("5;a=\"\r\n" + std::string(9000, 'x')) == "error 400");
  CHECK(verdict("0\r\nA: " + std::string(9000, 'x')) == "error 400");
  CHECK(verdict("1\r\na\r\n0\r\nA: " + std::string(9000, 'x')) == "error 400");
}

}  // namespace
