// Asks the fleet for its load: which worker, when, from which source, and what becomes of the
// answer.
//
// Workers are polled in groups, the pools of routing: the first tick comes at once, then one every
// interval of the group. A tick asks all members that are Ready at the same time, each with a
// deadline of its own, and takes each answer as it comes, so one that hangs delays nobody. Who has
// reported unasked within the interval is not asked, and what it said holds. A
// worker's sources are tried in the order of their match, until one has a report. Who is to read
// the reports gets them 20 ms later, all that came in that time at once.
//
// Control loop only, reports() excepted. What a report means for the worker (verdict, liveness,
// gauges) is for `Intake`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/registry.hpp"
#include "host/load/load_report.hpp"
#include "host/loop/loop.hpp"
#include "host/plugin/fault_meter.hpp"
#include "smg/monitor.h"

namespace smg {

class PluginInstance;

// A load source's instance. Who lets it go last ends the instance.
struct MonitorRef {
  const smg_monitor_api* api = nullptr;
  void* self = nullptr;
  std::string name;
  std::shared_ptr<PluginInstance> instance;  // what `api` and `self` are of
  FaultMeter* faults = nullptr;              // of the instance; nullptr: nobody counts them

  bool fenced() const { return faults != nullptr && faults->fenced(); }
};
using MonitorPtr = std::shared_ptr<const MonitorRef>;

// What takes the answers. Control loop.
class LoadIntake {
 public:
  virtual ~LoadIntake() = default;
  // False: the worker is not registered any more, or not Ready; the report says nothing then.
  virtual bool report(const std::shared_ptr<Worker>& worker, const LoadReport& report,
                      std::string_view source) = 0;
  // The verdict on the worker's last report, once more: the ceilings are others. As report().
  virtual bool judge(const std::shared_ptr<Worker>& worker, const LoadReport& report) = 0;
  virtual void no_report(const std::shared_ptr<Worker>& worker, std::uint32_t cause,
                         std::string_view detail, std::string_view source) = 0;
  // What was reported does not hold any more, and nothing else is known yet.
  virtual void reset(const std::shared_ptr<Worker>& worker) = 0;
};

// The last report of each worker that has one, by URL.
using LoadReports = std::map<std::string, std::shared_ptr<const LoadReport>, std::less<>>;

class LoadPoller {
 public:
  static constexpr std::uint64_t kTimeout = 5'000'000'000;

  LoadPoller(Loop& control, const Registry& registry, LoadIntake& intake, const Config& config,
             std::vector<MonitorPtr> monitors);
  ~LoadPoller();
  LoadPoller(const LoadPoller&) = delete;
  LoadPoller& operator=(const LoadPoller&) = delete;

  // Membership has changed: groups begin, end, or change their interval.
  void fleet_changed();
  // So has the configuration: besides, each worker's last report is judged anew.
  void config_changed();
  // The worker left Ready, was replaced or removed: nothing that is known of its load holds.
  void evict(const Worker& worker);
  // A report that came unasked.
  void pushed(const std::shared_ptr<Worker>& worker, const smg_load_report& report,
              std::string_view source);

  // Another load source; workers that it suits are attached to it when they are polled next.
  void add(const MonitorPtr& monitor);
  // `after` takes the place of `before`. What the workers that it served had reported through it
  // holds no longer: they are asked again at once, and are not overloaded until they have answered.
  void replace(const MonitorPtr& before, const MonitorPtr& after);
  const std::vector<MonitorPtr>& monitors() const { return monitors_; }

  // [any] The reports as last published.
  std::shared_ptr<const LoadReports> reports() const;

 private:
  struct Source {
    MonitorPtr monitor;
    void* handle;
  };
  struct Group;
  // One worker that is or was polled.
  struct Member {
    std::shared_ptr<Worker> worker;
    std::vector<Source> sources;  // best match first
    MonitorPtr fenced;            // one that was not asked whether it suits
    std::uint64_t ticket = 0;     // of the running poll; 0: none
    ~Member();                    // detaches the sources
  };
  // One running poll of one worker.
  struct Poll;
  struct Retired;

  static void done(std::uint64_t ticket, const smg_load_report* report, std::uint32_t cause,
                   smg_view detail) noexcept;
  static void overdue(smg_timer* timer);
  static void due(smg_timer* timer);
  static void publish_due(smg_timer* timer);

  void tick(Group& group);
  void poll(const std::shared_ptr<Worker>& worker);
  // Detaches its sources at the end of the turn: one of them may be on the stack now.
  void retire(std::unique_ptr<Member> member);
  Member& member(const std::shared_ptr<Worker>& worker);
  // Asks the poll's next source; without one left the poll ends.
  void ask(Poll& poll);
  static void say_fenced(Poll& poll, const MonitorRef& monitor);
  void no_report(const Poll& poll, const std::shared_ptr<Worker>& worker, std::uint32_t cause,
                 std::string_view detail, std::string_view source);
  // False: the intake did not want it.
  bool take(const std::shared_ptr<Worker>& worker, const smg_load_report& report,
            std::string_view source);
  void set(const std::string& url, std::shared_ptr<const LoadReport> report);
  // Ends its poll and detaches its sources.
  void drop_member(std::uint64_t ref);
  void poll_all_soon();
  std::uint64_t interval_of(const Pool& pool) const;
  // False only where polling is disabled and nothing needs the reports.
  bool wanted(const Pool& pool) const;

  Loop& control_;
  const Registry& registry_;
  LoadIntake& intake_;
  const Config& config_;
  std::vector<MonitorPtr> monitors_;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;   // by model
  std::unordered_map<std::uint64_t, std::unique_ptr<Member>> members_;  // by ref
  std::unordered_map<std::uint64_t, std::unique_ptr<Poll>> polls_;      // by ticket
  std::unordered_map<std::uint64_t, std::uint64_t> pushed_at_;          // by ref
  std::unordered_map<std::uint64_t, std::string> fed_by_;               // source of the last report
  // Polls that were dropped while their source is not detached yet.
  const std::shared_ptr<std::unordered_set<std::uint64_t>> given_up_ =
      std::make_shared<std::unordered_set<std::uint64_t>>();
  std::uint64_t next_ticket_ = 1;
  LoadReports current_;
  struct Timer : smg_timer {
    LoadPoller* owner;
    bool set;
  } publish_{};

  mutable std::mutex mutex_;
  std::shared_ptr<const LoadReports> published_;
};

}  // namespace smg
