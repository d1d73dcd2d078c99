// Section 2.4 of the overload page.
#include "loads_document.hpp"

#include <doctest/doctest.h>

#include "smg/cpp/view.hpp"

using namespace smg;
using http_loads::LoadsDocument;

namespace {

bool is_document(std::string_view json) {
  LoadsDocument document;
  return document.read(json);
}

}  // namespace

TEST_CASE("overload 2.4: every field of a rank is read under its name") {
  LoadsDocument document;
  REQUIRE(document.read(R"({"timestamp":"2026-01-01T00:00:00Z","version":"x","dp_rank_count":2,
    "loads":[{"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":3,"num_waiting_uncached_tokens":4,
    "num_total_reqs":5,"num_used_tokens":6,"max_total_num_tokens":7,"token_usage":0.5,
    "gen_throughput":8.5,"cache_hit_rate":0.25,"utilization":0.75,"max_running_requests":9,
    "kv_transfer_latency_ms":1.5,"kv_transfer_speed_gb_s":2.5,"prefill_queue_reqs":10,
    "decode_queue_reqs":11,"disagg_mode":"decode",
    "memory":{"weight_gb":1,"kv_cache_gb":2,"graph_gb":3,"token_capacity":4},
    "queues":{"waiting":1,"grammar":2,"paused":3,"retracted":4},"extra":[1,{}]}],"aggregate":{}})"));
  const smg_load_report& report = document.report();
  CHECK(text(report.timestamp) == "2026-01-01T00:00:00Z");
  REQUIRE(report.rank_count == 1);
  const smg_rank_load& rank = report.ranks[0];
  CHECK(rank.dp_rank == 1);
  CHECK(rank.running_requests == 2);
  CHECK(rank.waiting_requests == 3);
  CHECK(rank.waiting_uncached_tokens == 4);
  CHECK(rank.total_requests == 5);
  CHECK(rank.used_tokens == 6);
  CHECK(rank.max_total_tokens == 7);
  CHECK(rank.token_usage == 0.5);
  CHECK(rank.generation_throughput == 8.5);
  CHECK(rank.cache_hit_rate == 0.25);
  CHECK(rank.utilization == 0.75);
  CHECK(rank.max_running_requests == 9);
  CHECK(rank.kv_transfer_latency_ms == 1.5);
  CHECK(rank.kv_transfer_speed_gb_s == 2.5);
  CHECK(rank.prefill_queue_requests == 10);
  CHECK(rank.decode_queue_requests == 11);
  CHECK(text(rank.disagg_mode) == "decode");
  CHECK(rank.memory_kv_cache_gb == 2);
  CHECK(rank.queue_retracted == 4);
  CHECK(rank.present ==
        (SMG_LOAD_KV_TRANSFER_LATENCY | SMG_LOAD_KV_TRANSFER_SPEED | SMG_LOAD_PREFILL_QUEUE |
         SMG_LOAD_DECODE_QUEUE | SMG_LOAD_DISAGG_MODE | SMG_LOAD_MEMORY | SMG_LOAD_QUEUES));
}

TEST_CASE("overload 2.4.1: what is missing is 0, or absent") {
  LoadsDocument document;
  REQUIRE(document.read(R"({"loads":[{}]})"));
  REQUIRE(document.report().rank_count == 1);
  CHECK(document.report().ranks[0].waiting_requests == 0);
  CHECK(document.report().ranks[0].token_usage == 0);
  CHECK(document.report().ranks[0].present == 0);
}

TEST_CASE("overload 2.4.4 e: no loads is a document without a report") {
  LoadsDocument document;
  REQUIRE(document.read(R"({"loads":[]})"));
  CHECK(document.report().rank_count == 0);
}

TEST_CASE("overload 2.4.4 f: what is no load document") {
  for (const char* const json : {"", "null", "[]", "{}", "<html>", R"({"loads":{}})",
                                 R"({"loads":null})", R"({"loads":[1]})", R"({"loads":[{}]} x)",
                                 R"({"dp_rank_count":"2","loads":[]})", R"({"loads":[{})"}) {
    CAPTURE(json);
    CHECK_FALSE(is_document(json));
  }
}

TEST_CASE("overload 2.4.8: strict on types, but 3.0 is a whole number and null an absent option") {
  CHECK(is_document(R"({"loads":[{"num_waiting_reqs":3.0}]})"));
  CHECK(is_document(
      R"({"loads":[{"disagg_mode":null,"memory":null,"kv_transfer_latency_ms":null}]})"));
  for (const char* const field :
       {R"("num_waiting_reqs":"3")", R"("num_waiting_reqs":3.5)", R"("num_waiting_reqs":null)",
        R"("num_waiting_reqs":2147483648)", R"("num_waiting_reqs":true)", R"("token_usage":"0.5")",
        R"("token_usage":null)", R"("memory":[])", R"("memory":{"weight_gb":"1"})",
        R"("queues":{"paused":0.5})", R"("disagg_mode":1)", R"("prefill_queue_reqs":"1")"}) {
    CAPTURE(field);
    CHECK_FALSE(is_document("{\"loads\":[{" + std::string(field) + "}]}"));
  }
}

TEST_CASE("one document does not shine through the next") {
  LoadsDocument document;
  REQUIRE(document.read(R"({"timestamp":"t","loads":[{"num_waiting_reqs":3},{}]})"));
  REQUIRE(document.read(R"({"loads":[{}]})"));
  CHECK(document.report().rank_count == 1);
  CHECK(document.report().timestamp.size == 0);
  CHECK(document.report().ranks[0].waiting_requests == 0);
}
