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
  CHECK(merged.text() ==
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
  CHECK(merged.text() ==
        "# TYPE t histogram\nt_bucket{le=\"1\",worker_addr=\"w\"} 1\n"
        "t_bucket{le=\"+Inf\",worker_addr=\"w\"} 2\nt_sum{worker_addr=\"w\"} 3\n"
        "t_count{worker_addr=\"w\"} 2\n");
}

TEST_CASE("escapes, timestamps, blanks and special values survive") {
  EngineMetrics merged;
  CHECK(merged.add("x{ a = \"q\\\"\\\\n\" , } NaN 1700000000000\r\n\n# a remark\ny +Inf", "w"));
  CHECK(merged.text() ==
        "x{a=\"q\\\"\\\\n\",worker_addr=\"w\"} NaN 1700000000000\ny{worker_addr=\"w\"} +Inf\n");
}

TEST_CASE("a text that is no exposition is left out as a whole") {
  for (const char* text : {"<html>\n", "a 1\nb{c=\"d} 1\n", "a 1\nb\n", "a one\n", "{a=\"b\"} 1\n",
                           "a{b=1} 2\n", "a{b=\"c\\", "9a 1\n"}) {
    CAPTURE(text);
    EngineMetrics merged;
    CHECK(merged.add("fine 1\n", "w1"));
    CHECK_FALSE(merged.add(text, "w2"));
    CHECK(merged.text() == "fine{worker_addr=\"w1\"} 1\n");
  }
}
