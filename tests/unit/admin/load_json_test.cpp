#include "host/admin/load_json.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <cmath>
#include <limits>

#include "host/base/views.hpp"
#include "host/fleet/endpoint.hpp"

using namespace smg;
namespace json = boost::json;

namespace {

smg_rank_load rank(double usage, double throughput, double utilization) {
  smg_rank_load load{};
  load.struct_size = sizeof load;
  load.token_usage = usage;
  load.generation_throughput = throughput;
  load.utilization = utilization;
  load.running_requests = 2;
  load.waiting_requests = 3;
  load.total_requests = 5;
  return load;
}

std::shared_ptr<const LoadReport> report_of(const smg_rank_load& load) {
  smg_load_report report{};
  report.struct_size = sizeof report;
  report.rank_count = 1;
  report.ranks = &load;
  report.rank_stride = sizeof load;
  report.timestamp = view("then");
  return std::make_shared<const LoadReport>(report);
}

std::shared_ptr<Worker> worker(const std::string& url) {
  WorkerDescription description;
  description.url = url;
  return std::make_shared<Worker>(std::move(description), nullptr, 1, 0, nullptr, Series{});
}

}  // namespace

TEST_CASE(
    "overload 9.7: usage 0.37 and 0.23, throughput 1850.5 and 1420.0, utilization 0.41 and 0.3") {
  const auto first = report_of(rank(0.37, 1850.5, 0.41));
  const auto second = report_of(rank(0.23, 1420.0, 0.3));
  const auto left = worker("http://a");
  const auto right = worker("http://b");
  const json::value body = json::parse(
      fleet_load_json({{left.get(), first.get()}, {right.get(), second.get()}}, "1.2", 1700000000));
  const json::object& out = body.get_object();
  const json::object& sum = out.at("aggregate").get_object();
  CHECK(sum.at("avg_token_usage").get_double() == doctest::Approx(0.30));
  CHECK(sum.at("avg_throughput").get_double() == doctest::Approx(1635.25));
  CHECK(sum.at("avg_utilization").get_double() == doctest::Approx(0.355));
  CHECK(sum.at("total_running_reqs").get_int64() == 4);
  CHECK(sum.at("total_waiting_reqs").get_int64() == 6);
  CHECK(sum.at("total_reqs").get_int64() == 10);
  CHECK(out.at("timestamp").get_string() == "2023-11-14T22:13:20Z");
  CHECK(out.at("version").get_string() == "smg-1.2");
  CHECK(out.at("dp_rank_count").to_number<int>() == 2);
  CHECK(out.at("loads").get_array()[1].get_object().at("worker").get_string() == "http://b");
  CHECK(out.at("loads").get_array()[1].get_object().at("worker_type").get_string() == "regular");
}

TEST_CASE("overload 9.6: without entries there is no aggregate") {
  const json::value body = json::parse(fleet_load_json({}, "1", 0));
  CHECK(body.get_object().at("loads").get_array().empty());
  CHECK_FALSE(body.get_object().contains("aggregate"));
}

TEST_CASE("optional figures are left out when the engine did not report them") {
  smg_rank_load load = rank(0.5, 1, 1);
  CHECK_FALSE(
      load_json(*report_of(load)).at("loads").get_array()[0].get_object().contains("queues"));
  load.present = SMG_LOAD_QUEUES | SMG_LOAD_DISAGG_MODE | SMG_LOAD_PREFILL_QUEUE;
  load.queue_paused = 4;
  load.prefill_queue_requests = 7;
  load.disagg_mode = view("prefill");
  const json::object shown = load_json(*report_of(load));
  const json::object& first = shown.at("loads").get_array()[0].get_object();
  CHECK(first.at("queues").get_object().at("paused").get_int64() == 4);
  CHECK(first.at("prefill_queue_reqs").get_int64() == 7);
  CHECK(first.at("disagg_mode").get_string() == "prefill");
  CHECK_FALSE(first.contains("kv_transfer_latency_ms"));
  CHECK(shown.at("timestamp").get_string() == "then");
}

TEST_CASE("a figure that is no number is null") {
  const auto report = report_of(rank(std::numeric_limits<double>::quiet_NaN(), 1, 1));
  CHECK(load_json(*report).at("loads").get_array()[0].get_object().at("token_usage").is_null());
}
