#include "host/bus/event_json.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "host/base/views.hpp"
#include "smg/worker.h"

using smg::append_event_stream;
using smg::event_json;
using smg::parse_event_filter;
using smg::view;

namespace {

smg_event head(std::uint32_t type, std::size_t size) {
  return {static_cast<std::uint32_t>(size), type, 5, 1000, 1, view("http://w:1")};
}

smg_event_change change(std::uint32_t type, std::uint32_t before, std::uint32_t after,
                        std::string_view words) {
  smg_event_change result{};
  result.event = head(type, sizeof(result));
  result.before = before;
  result.after = after;
  result.text = view(words);
  return result;
}

}  // namespace

TEST_CASE("an event is one server-sent event") {
  std::string out;
  append_event_stream(out, head(SMG_EVENT_WORKER_ADDED, sizeof(smg_event)));
  CHECK(out ==
        "id: 5\nevent: worker_added\n"
        "data: {\"sequence\":5,\"type\":\"worker_added\",\"time_ns\":1000,"
        "\"worker\":\"http://w:1\"}\n\n");
}

TEST_CASE("changes are told in words") {
  const std::string prefix_status =
      R"({"sequence":5,"type":"worker_status","time_ns":1000,"worker":"http://w:1",)";
  CHECK(event_json(
            change(SMG_EVENT_WORKER_STATUS, SMG_STATUS_READY, SMG_STATUS_NOT_READY, "").event) ==
        prefix_status + R"("before":"ready","after":"not_ready"})");
  const auto ends = [](const smg_event_change& event, const std::string& end) {
    const auto json = event_json(event.event);
    CHECK(json.size() > end.size());
    CHECK(json.substr(json.size() - end.size()) == end);
  };
  ends(change(SMG_EVENT_NO_REPORT, 0, SMG_NO_REPORT_TIMEOUT, "slow"),
       R"("cause":"timeout","text":"slow"})");
  ends(change(SMG_EVENT_VERDICT_CHANGED, 0, 1, ""), R"("overloaded":true})");
  ends(change(SMG_EVENT_LIVENESS_CHANGED, 0, SMG_STATE_WEDGED, ""),
       R"("before":"none","after":"wedged"})");
  ends(change(SMG_EVENT_CONFIG_APPLIED, 0, 3, ""), R"("generation":3})");
  auto plugin = change(SMG_EVENT_PLUGIN_STATE, 0, 0, "fenced");
  plugin.subject = view("cache_aware");
  ends(plugin, R"("plugin":"cache_aware","state":"fenced"})");
}

TEST_CASE("text is escaped and made valid") {
  const auto json = event_json(change(SMG_EVENT_NO_REPORT, 0, 4, "a\n\"\\\xff").event);
  CHECK(json.find(R"("text":"a\n\"\\)"
                  "\xef\xbf\xbd\"") != std::string::npos);
}

TEST_CASE("a load report shows each rank, numbers that JSON lacks as null") {
  std::array<smg_rank_load, 2> ranks{};
  ranks[0].struct_size = ranks[1].struct_size = sizeof(smg_rank_load);
  ranks[1].dp_rank = 1;
  ranks[1].waiting_requests = 4;
  ranks[1].token_usage = std::nan("");
  smg_event_load load{};
  load.event = head(SMG_EVENT_LOAD_REPORT, sizeof(load));
  load.source = view("json");
  load.report.struct_size = sizeof(load.report);
  load.report.ranks = ranks.data();
  load.report.rank_count = 2;
  load.report.rank_stride = sizeof(smg_rank_load);
  const auto json = event_json(load.event);
  CHECK(json.find(R"("source":"json","pushed":false)") != std::string::npos);
  CHECK(json.find(R"({"dp_rank":1,"running_requests":0,"waiting_requests":4)") !=
        std::string::npos);
  CHECK(json.find(R"("token_usage":null)") != std::string::npos);
}

TEST_CASE("block hashes are hexadecimal strings") {
  const std::array<std::uint64_t, 2> blocks{0xffffffffffffffffu, 16};
  smg_event_kv kv{};
  kv.event = head(SMG_EVENT_KV_BLOCKS, sizeof(kv));
  kv.action = SMG_KV_STORED;
  kv.blocks = blocks.data();
  kv.block_count = 2;
  kv.parent = 1;
  const auto json = event_json(kv.event);
  CHECK(json.find(
            R"("action":"stored","dp_rank":0,"blocks":["ffffffffffffffff","10"],"parent":"1")") !=
        std::string::npos);
}

TEST_CASE("the filter takes types and a worker") {
  std::string error;
  auto filter = parse_event_filter("types=worker_added,kv_blocks&worker=http%3A%2F%2Fw%3a1", error);
  REQUIRE(filter);
  CHECK(filter->types ==
        (SMG_EVENT_MASK(SMG_EVENT_WORKER_ADDED) | SMG_EVENT_MASK(SMG_EVENT_KV_BLOCKS)));
  CHECK(filter->worker == "http://w:1");
  CHECK(filter->matches(head(SMG_EVENT_WORKER_ADDED, sizeof(smg_event))));
  CHECK_FALSE(filter->matches(head(SMG_EVENT_WORKER_REMOVED, sizeof(smg_event))));
  filter->worker = "http://other:1";
  CHECK_FALSE(filter->matches(head(SMG_EVENT_WORKER_ADDED, sizeof(smg_event))));
}

TEST_CASE("no filter means everything") {
  std::string error;
  const auto filter = parse_event_filter("", error);
  REQUIRE(filter);
  CHECK(filter->types == SMG_EVENT_MASK_ALL);
  CHECK(filter->matches(head(SMG_EVENT_CONFIG_APPLIED, sizeof(smg_event))));
}

TEST_CASE("a filter that is wrong is refused with the reason") {
  std::string error;
  CHECK_FALSE(parse_event_filter("types=worker_added,nonsense", error));
  CHECK(error.find("unknown event type 'nonsense': the types are worker_added, ") == 0);
  CHECK_FALSE(parse_event_filter("types=", error));
  CHECK(error.find("is empty") != std::string::npos);
  CHECK_FALSE(parse_event_filter("color=red", error));
  CHECK(error == "unknown parameter 'color': known are types and worker");
  for (const char* broken : {"worker=%", "worker=%4", "worker=%zz", "worker=%4g"}) {
    CHECK_FALSE(parse_event_filter(broken, error));
  }
  CHECK(error.find("'worker'") != std::string::npos);
}
