// Workers in the JSON of the admin API: specifications that come in, workers as they are shown.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "host/config/worker_spec.hpp"
#include "host/fleet/job_table.hpp"
#include "host/fleet/registration.hpp"
#include "host/load/load_report.hpp"
#include "host/routing/request/body_error.hpp"

namespace smg {

// Why a body was not taken: `body` is not what the route reads, or else `refusal` says which value
// is not allowed.
struct SpecError {
  BodyError body;
  std::string refusal;
};

// The body of POST and PUT. Limits of overload ceilings are not checked here.
std::optional<WorkerSpec> parse_worker_spec(std::string_view body, SpecError& error);
// The body of PATCH. What cannot be changed that way is passed over.
std::optional<WorkerPatch> parse_worker_patch(std::string_view body, SpecError& error);

// `report` and `job` may be nullptr.
boost::json::object worker_json(const Worker& worker, const LoadReport* report,
                                const JobRecord* job);
// A worker that is not registered yet.
boost::json::object reserved_json(std::string_view id, const JobRecord& job);

}  // namespace smg
