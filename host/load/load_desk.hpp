// What a load report means: verdict, liveness, the live numbers policies read, gauges, events.
//
// Control loop. Says in the log when a worker begins or ceases to report, not each time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/bus/bus.hpp"
#include "host/config/config.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_poller.hpp"
#include "host/metrics/families.hpp"

namespace smg {

class LoadDesk final : public LoadIntake {
 public:
  LoadDesk(Loop& control, Registry& registry, Families& families, Bus& bus, const Config& config);

  bool report(const std::shared_ptr<Worker>& worker, const LoadReport& report,
              std::string_view source) override;
  bool judge(const std::shared_ptr<Worker>& worker, const LoadReport& report) override;
  void no_report(const std::shared_ptr<Worker>& worker, std::uint32_t cause,
                 std::string_view detail, std::string_view source) override;
  void reset(const std::shared_ptr<Worker>& worker) override;
  // The worker left Ready, was replaced or removed.
  void forget(const Worker& worker);
  // Brings the gauges of report ages up to date.
  void show_ages();

 private:
  // The gauges of one rank for one model. Kept, for a look-up costs more than all the rest of a
  // report.
  using Gauges = std::array<Series, 5>;
  struct Known {
    Series age;
    std::uint64_t reported_at = 0;  // 0: never
    std::uint32_t cause = 0;        // of the last poll without a report; 0: it had one
    std::map<std::int32_t, std::vector<Gauges>> ranks;  // that were shown
    bool disaggregated = false;                         // figures of a role were shown
  };

  Known& known(const Worker& worker);
  Gauges gauges_of(const Worker& worker, std::string_view model, std::int32_t rank);
  void show(const Worker& worker, const LoadReport& report, Known& known);

  Loop& control_;
  Registry& registry_;
  Families& families_;
  Bus& bus_;
  const Config& config_;
  std::unordered_map<std::uint64_t, Known> known_;  // by ref
};

std::string_view no_report_name(std::uint32_t cause);

}  // namespace smg
