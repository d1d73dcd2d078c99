#include "host/admin/engine_metrics.hpp"

#include <doctest/doctest.h>

using smg::EngineMetrics;

TEST_CASE("http-api 1.9: names without colons, a label for the worker, families together") {
  EngineMetrics merged;
  CHECK(
      merged.add("# HELP vllm:running Requests that run\n# TYPE vllm:running gauge\n"
                 "vllm:running{model=\"a\"} 3\n",
                 "http://w1:8000"));
  CHECK(merged.add("# TYPE vllm:running gauge\nvllm:running 4.5\n", "http://w2:8000"));
  CHECK(merged.text().value() ==
        "# HELP vllm_running Requests that run\n# TYPE vllm_running gauge\n"
        "vllm_running{model=\"a\",worker_addr=\"http://w1:8000\"} 3\n"
        "vllm_running{model=\"\",worker_addr=\"http://w2:8000\"} 4.5\n");
}

TEST_CASE("the samples of a histogram stay in its family, and only the buckets have le") {
  EngineMetrics merged;
  CHECK(
      merged.add("# TYPE t histogram\nt_bucket{le=\"1\"} 1\nt_bucket{le=\"+Inf\"} 2\nt_sum 3\n"
                 "t_count 2\n",
                 "w"));
  CHECK(merged.text().value() ==
        "# TYPE t histogram\nt_bucket{le=\"1\",worker_addr=\"w\"} 1\n"
        "t_bucket{le=\"+Inf\",worker_addr=\"w\"} 2\nt_sum{worker_addr=\"w\"} 3\n"
        "t_count{worker_addr=\"w\"} 2\n");
}

TEST_CASE("escapes, timestamps, blanks and special values survive") {
  EngineMetrics merged;
  CHECK(merged.add("x{ a = \"q\\\"\\\\n\" , } NaN 1700000000000\r\n\n# a remark\ny +Inf", "w"));
  CHECK(merged.text().value() ==
        "x{a=\"q\\\"\\\\n\",worker_addr=\"w\"} NaN 1700000000000\ny{worker_addr=\"w\"} +Inf\n");
}

TEST_CASE("a text that is no exposition is left out as a whole") {
  for (const char* text : {"<html>\n", "a 1\nb{c=\"d} 1\n", "a 1\nb\n", "a one\n", "{a=\"b\"} 1\n",
                           "a{b=1} 2\n", "a{b=\"c\\", "9a 1\n"}) {
    CAPTURE(text);
    EngineMetrics merged;
    CHECK(merged.add("fine 1\n", "w1"));
    CHECK_FALSE(merged.add(text, "w2"));
    CHECK(merged.text().value() == "fine{worker_addr=\"w1\"} 1\n");
  }
}

TEST_CASE("what an engine can make of it is bounded") {
  EngineMetrics merged;
  CHECK(merged.add("a 1\n", "w1"));
  std::string labels;
  for (int i = 0; i < 65; ++i) labels += "b" + std::to_string(i) + "=\"\",";
  CHECK_FALSE(merged.add("a{" + labels + "} 1\n", "w2"));
  std::string samples;
  for (int i = 0; i < 65; ++i) samples += "a{c" + std::to_string(i) + "=\"\"} 1\n";
  CHECK_FALSE(merged.add(samples, "w3"));
  CHECK_FALSE(merged.add("a{" + std::string(257, 'k') + "=\"\"} 1\n", "w4"));
  CHECK_FALSE(merged.add(std::string(257, 'n') + " 1\n", "w5"));
  CHECK(merged.text().value() == "a{worker_addr=\"w1\"} 1\n");
  // Short samples, widened by the labels of one.
  std::string wide = "x{";
  for (int i = 0; i < 60; ++i) wide += std::string(250, 'k') + std::to_string(i) + "=\"\",";
  wide += "} 1\n";
  for (int i = 0; i < 10000; ++i) wide += "x 1\n";
  CHECK(merged.add(wide, "w6"));
  CHECK_FALSE(merged.text());
}
