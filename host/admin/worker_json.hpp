// Workers as the admin API shows them.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "host/fleet/job_table.hpp"
#include "host/fleet/worker.hpp"
#include "host/load/load_report.hpp"

namespace smg {

// `report` and `job` may be nullptr.
boost::json::object worker_json(const Worker& worker, const LoadReport* report,
                                const JobRecord* job);
// A worker that is not registered yet.
boost::json::object reserved_json(std::string_view id, const JobRecord& job);

}  // namespace smg
