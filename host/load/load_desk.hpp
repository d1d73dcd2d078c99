// What a load report means: verdict, liveness, the live numbers policies read, gauges, events.
//
// Control loop. Says in the log when a worker begins or ceases to report, not each time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>

#include "host/bus/bus.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_poller.hpp"
#include "host/metrics/families.hpp"

namespace smg {

class LoadDesk final : public LoadIntake {
 public:
  LoadDesk(Loop& control, Registry& registry, Families& families, Bus& bus);

  bool report(const std::shared_ptr<Worker>& worker, const LoadReport& report,
              std::string_view source) override;
  void no_report(const std::shared_ptr<Worker>& worker, std::uint32_t cause,
                 std::string_view detail, std::string_view source) override;
  // The worker left Ready, was replaced or removed.
  void forget(const Worker& worker);
  // Brings the gauges of report ages up to date.
  void show_ages();

 private:
  struct Known {
    std::string url;
    std::uint64_t reported_at = 0;  // 0: never
    std::uint32_t cause = 0;        // of the last poll without a report; 0: it had one
    std::set<std::int32_t> ranks;   // that were shown
    bool disaggregated = false;     // figures of a role were shown
  };

  void show(const Worker& worker, const LoadReport& report, Known& known);

  Loop& control_;
  Registry& registry_;
  Families& families_;
  Bus& bus_;
  std::unordered_map<std::uint64_t, Known> known_;  // by ref
};

std::string_view no_report_name(std::uint32_t cause);

}  // namespace smg
