// Requests that two parsers might read differently, and requests beyond the limits: refused, with
// the status that the client gets.
#include <vector>

#include "agreed.hpp"

namespace {

using namespace smg;
using namespace std::string_literals;
using test::last_line;
using test::requests;

struct Refusal {
  const char* name;
  std::string bytes;
  int status = 400;
};

std::string with(const std::string& lines, const std::string& body = {}) {
  return "POST /v1/x HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n" + body;
}

std::string line(const std::string& first) {
  return first + "\r\nHost: a\r\n\r\n";
}

void check(const std::vector<Refusal>& refusals, const http1::Limits& limits = {}) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.name);
    CHECK(last_line(requests(refusal.bytes, limits)) == "error " + std::to_string(refusal.status));
  }
}

const std::string kChunked = "Transfer-Encoding: chunked\r\n";
const std::string kEmpty = "0\r\n\r\n";

TEST_CASE("a transfer encoding that is anything but one `chunked` is refused") {
  check({
      {"length, then encoding", with("Content-Length: 5\r\n" + kChunked, kEmpty)},
      {"encoding, then length", with(kChunked + "Content-Length: 5\r\n", kEmpty)},
      {"length zero with encoding", with("Content-Length: 0\r\n" + kChunked, kEmpty)},
      {"xchunked", with("Transfer-Encoding: xchunked\r\n", kEmpty)},
      {"identity", with("Transfer-Encoding: identity\r\n", kEmpty)},
      {"gzip, chunked", with("Transfer-Encoding: gzip, chunked\r\n", kEmpty)},
      {"chunked, gzip", with("Transfer-Encoding: chunked, gzip\r\n", kEmpty)},
      {"chunked, chunked", with("Transfer-Encoding: chunked, chunked\r\n", kEmpty)},
      {"chunked with a comma", with("Transfer-Encoding: chunked,\r\n", kEmpty)},
      {"chunked with a parameter", with("Transfer-Encoding: chunked;a=b\r\n", kEmpty)},
      {"chunked in quotes", with("Transfer-Encoding: \"chunked\"\r\n", kEmpty)},
      {"an empty one", with("Transfer-Encoding:\r\n", kEmpty)},
      {"twice", with(kChunked + kChunked, kEmpty)},
      {"xchunked, then chunked", with("Transfer-Encoding: xchunked\r\n" + kChunked, kEmpty)},
      {"on 1.0", "POST / HTTP/1.0\r\n" + kChunked + "\r\n" + kEmpty},
  });
}

TEST_CASE("a length that is anything but one decimal number in range is refused") {
  std::vector<Refusal> refusals{
      {"two equal ones", with("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")},
      {"two different ones", with("Content-Length: 5\r\nContent-Length: 6\r\n", "hello")},
      {"2^64", with("Content-Length: 18446744073709551616\r\n")},
      {"2^63", with("Content-Length: 9223372036854775808\r\n")},
      {"above the limit", with("Content-Length: 1001\r\n"), 413},
  };
  for (const char* value : {"5,5", "5, 5", "5,", ",5", "+5", "-5", "0x5", "5 5", "", " ", "5;",
                            "5.0", "5e0", "\"5\"", "five", "\xd9\xa5"}) {
    refusals.push_back({value, with("Content-Length: "s + value + "\r\n", "hello")});
  }
  http1::Limits limits;
  limits.max_body = 1000;
  check(refusals, limits);
}

TEST_CASE("line ends, foldings and blanks that parsers disagree about are refused") {
  check({
      {"bare line feeds", "GET / HTTP/1.1\nHost: a\n\n"},
      {"one behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"},
      {"one behind a field", with("A: b\nC: d\r\n")},
      {"one for the blank line", "GET / HTTP/1.1\r\nHost: a\r\n\n"},
      {"one in front", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a bare carriage return in a value", with("A: b\rC: d\r\n")},
      {"one in a name", with("A\rB: c\r\n")},
      {"nothing but those", "GET / HTTP/1.1\rHost: a\r\r"},
      {"one behind the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n"},
      {"one in front", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"two carriage returns at a line end", with("A: b\r\r\n")},
      {"a folding with a blank", with("A: b\r\n c\r\n")},
      {"a folding with a tab", with("A: b\r\n\tc\r\n")},
      {"a folding of an empty value", with("A:\r\n c\r\n")},
      {"an empty folding", with("A: b\r\n \r\n")},
      {"a blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
      {"a blank before the colon", with("A : b\r\n")},
      {"a tab before the colon", with("A\t: b\r\n")},
      {"an encoding with a blank before the colon",
       with("Transfer-Encoding : chunked\r\n", kEmpty)},
      {"a blank in a name", with("A B: c\r\n")},
      {"an empty name", with(": b\r\n")},
      {"no colon", with("nonsense\r\n")},
      {"a zero byte in a value", with("A: b\0c\r\n"s)},
      {"a zero byte in a name", with("A\0: c\r\n"s)},
      {"a control byte in a value", with("A: b\x01\r\n")},
      {"a delete byte in a value", with("A: b\x7f\r\n")},
      {"a high byte in a name", with("\xc3\xa9: b\r\n")},
      {"a bracket in a name", with("A[0]: b\r\n")},
      {"five blank lines in front", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
  });
}

TEST_CASE("a request line with more than one reading is refused") {
  check({
      {"two blanks behind the method", line("GET  / HTTP/1.1")},
      {"two blanks before the version", line("GET /  HTTP/1.1")},
      {"a tab for a blank", line("GET\t/ HTTP/1.1")},
      {"a blank in front", line(" GET / HTTP/1.1")},
      {"a blank behind", line("GET / HTTP/1.1 ")},
      {"a blank in the target", line("GET /a b HTTP/1.1")},
      {"no target", line("GET HTTP/1.1")},
      {"no version: HTTP/0.9", "GET /\r\n\r\n"},
      {"HTTP/0.9 by name", line("GET / HTTP/0.9")},
      {"HTTP/1.2", line("GET / HTTP/1.2"), 505},
      {"HTTP/2.0", line("GET / HTTP/2.0"), 505},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"a version without minor", line("GET / HTTP/1")},
      {"a version with more digits", line("GET / HTTP/1.10")},
      {"a lower-case version", line("GET / http/1.1")},
      {"a lower-case method", line("get / HTTP/1.1"), 501},
      {"an unknown method", line("BREW / HTTP/1.1"), 501},
      {"a method that begins like a known one", line("GETS / HTTP/1.1"), 501},
      {"CONNECT", line("CONNECT a:1 HTTP/1.1"), 501},
      {"TRACE", line("TRACE / HTTP/1.1"), 501},
      {"a handshake of TLS", "\x16\x03\x01\x02\x00\x01"s},
  });
}

TEST_CASE("a target that is no path is refused") {
  check({
      {"a fragment", line("GET /a#b HTTP/1.1")},
      {"a high byte", line("GET /\xe9 HTTP/1.1")},
      {"a control byte", line("GET /\x01 HTTP/1.1")},
      {"a relative path", line("GET a/b HTTP/1.1")},
      {"an asterisk", line("GET * HTTP/1.1")},
      {"an asterisk and more", line("OPTIONS *a HTTP/1.1")},
      {"an authority", line("GET a:80 HTTP/1.1")},
      {"another scheme", line("GET ftp://a/b HTTP/1.1")},
      {"a scheme alone", line("GET http:// HTTP/1.1")},
      {"an empty authority", line("GET http:///b HTTP/1.1")},
      {"a query behind the authority", line("GET http://a?b HTTP/1.1")},
  });
}

TEST_CASE("HTTP/1.1 has exactly one Host, HTTP/1.0 at most one") {
  check({
      {"none", "GET / HTTP/1.1\r\n\r\n"},
      {"two", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
      {"two equal ones", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"},
      {"none, absolute form", "GET http://a/ HTTP/1.1\r\n\r\n"},
      {"two on 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"},
  });
}

TEST_CASE("an expectation that is not understood is refused") {
  check({{"another", with("Expect: the-unexpected\r\n"), 417},
         {"a list", with("Expect: 100-continue, more\r\n"), 417}});
}

TEST_CASE("a head of the largest size passes, one byte more does not") {
  http1::Limits limits;
  limits.max_head = 300;
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const std::string fits = start + std::string(300 - 4 - start.size(), 'y') + "\r\n\r\n";
  const std::string above = start + std::string(301 - 4 - start.size(), 'y') + "\r\n\r\n";
  REQUIRE(fits.size() == 300);
  CHECK(requests(fits, limits).find("complete") != std::string::npos);
  CHECK(last_line(requests(above, limits)) == "error 431");
}

TEST_CASE("an endless head is refused as too large, whatever comes behind the limit") {
  check({
      {"an endless field", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(70000, 'y'), 431},
      {"an endless request line", "GET /" + std::string(70000, 'y'), 431},
      {"endless fields", with("A: b\r\n" + std::string(70000, 'y') + "\nbare"), 431},
      {"101 fields", with([] {
         std::string lines;
         for (int i = 0; i < 100; ++i) lines += "A: b\r\n";
         return lines;
       }()),
       431},
  });
}

}  // namespace
