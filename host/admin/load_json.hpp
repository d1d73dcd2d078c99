// Load reports as the admin API shows them.
#pragma once

#include <boost/json/object.hpp>
#include <ctime>
#include <string_view>
#include <vector>

#include "host/fleet/worker.hpp"
#include "host/load/load_report.hpp"

namespace smg {

// `{"timestamp", "dp_rank_count", "loads": [...]}`. Optional figures that the engine did not report
// are left out.
boost::json::object load_json(const LoadReport& report);

struct WorkerLoad {
  const Worker* worker;
  const LoadReport* report;
};

// The body of GET /loads: every rank of every worker, and what they come to together.
// `now`: seconds since 1970.
std::string fleet_load_json(const std::vector<WorkerLoad>& loads, std::string_view version,
                            std::time_t now);

}  // namespace smg
