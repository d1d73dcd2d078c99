// What both kinds of load print: pieces of the JSON object on stdout.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "connection.hpp"
#include "histogram.hpp"
#include "options.hpp"
#include "process_usage.hpp"

namespace smg::bench {

/// Failures by kind: "refused", "closed", "reset", "bad_response", "status_503", "truncated", ...
using Errors = std::map<std::string, std::uint64_t>;

/// The kind of a failed connection event.
std::string error_kind(Event event);

boost::json::object to_json(const Histogram& histogram);
boost::json::object to_json(const Errors& errors);

/// "machine_cpu", "load_cpu" and "watched": seconds of CPU time between two samples.
void add_cpu(boost::json::object& report, const Options& options,
             const std::vector<CpuTime>& before, const std::vector<CpuTime>& after);

/// One line on stdout, flushed.
void print_line(const boost::json::object& report);

}  // namespace smg::bench
