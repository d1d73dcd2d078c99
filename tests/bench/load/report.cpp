#include "report.hpp"

#include <boost/json/serialize.hpp>
#include <iostream>

namespace smg::bench {

std::string error_kind(Event event) {
  switch (event) {
    case Event::kRefused:
      return "refused";
    case Event::kClosed:
      return "closed";
    case Event::kReset:
      return "reset";
    default:
      return "bad_response";
  }
}

boost::json::object to_json(const Histogram& histogram) {
  return {{"mean", histogram.mean_ms()},           {"p50", histogram.quantile_ms(0.5)},
          {"p90", histogram.quantile_ms(0.9)},     {"p99", histogram.quantile_ms(0.99)},
          {"p99.9", histogram.quantile_ms(0.999)}, {"max", histogram.max_ms()}};
}

boost::json::object to_json(const Errors& errors) {
  boost::json::object object;
  for (const auto& [kind, count] : errors) object[kind] = count;
  return object;
}

void add_cpu(boost::json::object& report, const Options& options,
             const std::vector<CpuTime>& before, const std::vector<CpuTime>& after) {
  const auto difference = [&](std::size_t i) -> boost::json::object {
    return {{"user_s", after[i].user_s - before[i].user_s},
            {"system_s", after[i].system_s - before[i].system_s}};
  };
  report["machine_cpu"] = difference(0);
  report["load_cpu"] = difference(1);
  boost::json::object watched;
  for (std::size_t i = 0; i < options.watch.size(); ++i) {
    watched[options.watch[i].name] = difference(i + 2);
  }
  report["watched"] = std::move(watched);
}

void print_line(const boost::json::object& report) {
  std::cout << boost::json::serialize(report) << std::endl;
}

}  // namespace smg::bench
