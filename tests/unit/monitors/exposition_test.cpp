// Section 2.5 of the overload page: the grammar of a scraped line.
#include "exposition.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace smg::prometheus_scrape;

namespace {

const std::vector<std::string> kNames = {"vllm:num_requests_waiting", "a", "b"};

// Sum of the samples of `a`, or -1 without any.
double sum(std::string_view text) {
  Exposition exposition(kNames);
  exposition.read(text);
  const Samples* samples = exposition.first({"a"});
  return samples == nullptr ? -1 : samples->sum;
}

}  // namespace

TEST_CASE("overload 2.5: a value stands behind the name, labels or not") {
  CHECK(sum("a 3") == 3);
  CHECK(sum("a{x=\"1\"} 3\n") == 3);
  CHECK(sum("  a\t3\r\n") == 3);
  CHECK(sum("a{x=\"} {\"} 3") == 3);
  CHECK(sum("a 3 1700000000000") == 3);
  CHECK(sum("a 1e2") == 100);
  CHECK(sum("a +4") == 4);
  CHECK(sum("a{} 5") == 5);
}

TEST_CASE("overload 2.5: comments, blanks, other names and what is no number are passed over") {
  CHECK(sum("") == -1);
  CHECK(sum("# a 3\n\n   \n") == -1);
  CHECK(sum("ab 3\naa 4\n") == -1);
  CHECK(sum("a three\na{x=\"1\"}\na \n") == -1);
  CHECK(sum("a 3x\na 4\n") == 4);
  CHECK(sum("a") == -1);
}

TEST_CASE("overload 2.5: samples of one name are added up over its label sets") {
  Exposition exposition(kNames);
  exposition.read("b{e=\"0\"} 0.5\nb{e=\"1\"} 1\nvllm:num_requests_waiting{engine=\"0\"} 7\n");
  CHECK(exposition.first({"b"})->sum == 1.5);
  CHECK(exposition.first({"b"})->mean() == 0.75);
  CHECK(exposition.first({"vllm:num_requests_waiting"})->sum == 7);
}

TEST_CASE("overload 2.5: the first of several names that is there counts") {
  Exposition exposition(kNames);
  exposition.read("b 2\n");
  CHECK(exposition.first({"a", "b"})->sum == 2);
  exposition.read("a 1\nb 2\n");
  CHECK(exposition.first({"a", "b"})->sum == 1);
  exposition.read("");
  CHECK(exposition.first({"a", "b"}) == nullptr);
}

TEST_CASE("overload 2.5.3: NaN and infinity are numbers") {
  CHECK(std::isnan(sum("a NaN")));
  CHECK(std::isinf(sum("a +Inf")));
  CHECK(sum("a -Inf") < 0);
}
