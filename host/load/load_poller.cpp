#include "host/load/load_poller.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "host/base/plausible.hpp"
#include "host/base/views.hpp"
#include "host/config/duration.hpp"
#include "host/fleet/describe_worker.hpp"
#include "host/load/load_poll.hpp"

namespace smg {
namespace {

constexpr std::uint64_t kPublishDelay = 20'000'000;
// A source that has not answered by then breaks its promise.
constexpr std::uint64_t kGrace = 500'000'000;
constexpr unsigned kNumberShift = 56;  // where a ticket has the number of the monitor's meter

thread_local LoadPoller* t_poller = nullptr;  // smg_poll_done brings a ticket and nothing else

}  // namespace

LoadPoller::LoadPoller(Loop& control, const Registry& registry, LoadIntake& intake,
                       const Config& config, std::vector<MonitorPtr> monitors)
    : control_(control),
      registry_(registry),
      intake_(intake),
      config_(config),
      monitors_(std::move(monitors)),
      published_(std::make_shared<LoadReports>()) {
  t_poller = this;
  publish_.owner = this;
  publish_.fired = publish_due;
}

LoadPoller::~LoadPoller() {
  control_.clear_timer(&publish_);
  for (const auto& [model, group] : groups_) control_.clear_timer(&group->timer);
  for (const auto& [ticket, poll] : polls_) control_.clear_timer(&poll->timer);
  polls_.clear();
  members_.clear();
  t_poller = nullptr;
}

std::shared_ptr<const LoadReports> LoadPoller::reports() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::uint64_t LoadPoller::interval_of(const Pool& pool) const {
  std::optional<std::uint64_t> shortest;
  for (const auto& worker : pool.members) {
    if (const auto own = worker->description().load_monitor_interval_secs) {
      shortest = std::min(shortest.value_or(*own), *own);
    }
  }
  return seconds_to_ns(
      std::max<std::uint64_t>(shortest.value_or(config_.load_monitor.interval_secs), 1));
}

bool LoadPoller::wanted(const Pool& pool) const {
  const LoadMonitor& monitor = config_.load_monitor;
  if (!monitor.disabled || monitor.engine_metrics) return true;
  if ((pool.policy->needs & SMG_NEEDS_LOADS) != 0) return true;
  return std::any_of(pool.members.begin(), pool.members.end(), [this](const auto& worker) {
    return ceilings_of(worker->description(), config_.overload).any();
  });
}

void LoadPoller::fleet_changed() {
  const auto fleet = registry_.snapshot();
  std::erase_if(groups_, [&](const auto& entry) {
    const auto pool = fleet->pools.find(entry.first);
    if (pool != fleet->pools.end() && wanted(*pool->second)) return false;
    control_.clear_timer(&entry.second->timer);
    return true;
  });
  for (const auto& [model, pool] : fleet->pools) {
    if (!wanted(*pool)) continue;
    const std::uint64_t interval = interval_of(*pool);
    auto& group = groups_[model];
    if (group != nullptr && group->interval == interval) continue;
    if (group == nullptr) {
      group = std::make_unique<Group>();
      group->owner = this;
      group->model = model;
      group->timer.fired = due;
      group->timer.group = group.get();
    }
    group->interval = interval;
    control_.set_timer(&group->timer, control_.now());
  }
}

void LoadPoller::config_changed() {
  fleet_changed();
  for (const auto& [url, report] : current_) {
    if (const auto worker = registry_.find_url(url)) intake_.judge(worker, *report);
  }
}

void LoadPoller::due(smg_timer* timer) {
  Group& group = *static_cast<Group::Timer*>(timer)->group;
  group.owner->control_.set_timer(timer, group.owner->control_.now() + group.interval);
  group.owner->tick(group);
}

void LoadPoller::tick(Group& group) {
  const auto fleet = registry_.snapshot();
  const auto pool = fleet->pools.find(group.model);
  if (pool == fleet->pools.end()) return;
  for (const auto& worker : pool->second->members) {
    if ((worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_READY) continue;
    const auto pushed = pushed_at_.find(worker->view().ref);
    if (pushed != pushed_at_.end() && control_.now() - pushed->second <= group.interval) continue;
    poll(worker);
  }
}

void LoadPoller::poll(const std::shared_ptr<Worker>& worker) {
  Member& asked = member(worker);
  if (asked.ticket != 0) return;
  asked.ticket = next_ticket_++;
  auto& poll = polls_[asked.ticket];
  poll = std::make_unique<Poll>();
  poll->owner = this;
  poll->ticket = asked.ticket;
  poll->member = &asked;
  poll->started = control_.now();
  poll->timer.fired = overdue;
  poll->timer.poll = poll.get();
  ask(*poll);
}

void LoadPoller::say_fenced(Poll& poll, const MonitorRef& monitor) {
  poll.source_name = monitor.name;
  poll.say(SMG_NO_REPORT_ERROR,
           "the load source " + monitor.name + " is fenced after too many faults");
}

void LoadPoller::ask(Poll& poll) {
  while (poll.source < poll.member->sources.size()) {
    const Source& source = poll.member->sources[poll.source];
    poll.source_name = source.monitor->name;
    if (source.monitor->api->poll == nullptr) {  // one that only pushes
      ++poll.source;
      continue;
    }
    if (source.monitor->fenced()) {
      say_fenced(poll, *source.monitor);
      ++poll.source;
      continue;
    }
    // A number of its own for each source asked, so that a second answer of one is not taken for
    // the answer of the next.
    auto node = polls_.extract(poll.ticket);
    const std::uint64_t number =
        source.monitor->faults == nullptr ? 0 : source.monitor->faults->number();
    const std::uint64_t ticket = next_ticket_++ | number << kNumberShift;
    node.key() = poll.ticket = poll.member->ticket = ticket;
    polls_.insert(std::move(node));
    control_.set_timer(&poll.timer, control_.now() + kTimeout + kGrace);
    poll.asking = true;
    poll.answered = false;
    // Within the call the member may be dropped, and its sources with it.
    const MonitorPtr monitor = source.monitor;
    const bool fine = guarded(monitor->faults, "poll", [&, handle = source.handle] {
      monitor->api->poll(handle, ticket, kTimeout, done);
    });
    const auto running = polls_.find(ticket);
    if (running == polls_.end()) return;  // it brought a report, or the worker went
    poll.asking = false;
    if (!fine && !poll.answered) {
      poll.say(SMG_NO_REPORT_ERROR, "the load source threw an exception");
      poll.answered = true;
    }
    if (!poll.answered) return;
    ++poll.source;
  }
  const std::shared_ptr<Worker> worker = poll.member->worker;
  if (poll.member->sources.empty() && poll.member->fenced != nullptr) {
    say_fenced(poll, *poll.member->fenced);
  }
  poll.member->ticket = 0;
  control_.clear_timer(&poll.timer);
  const auto ended = polls_.extract(poll.ticket);
  no_report(poll, worker, poll.cause, poll.detail, poll.cause_source);
}

// What the worker itself said while it was asked holds.
void LoadPoller::no_report(const Poll& poll, const std::shared_ptr<Worker>& worker,
                           std::uint32_t cause, std::string_view detail, std::string_view source) {
  const auto pushed = pushed_at_.find(worker->view().ref);
  if (pushed != pushed_at_.end() && pushed->second >= poll.started) return;
  set(worker->url(), nullptr);
  intake_.no_report(worker, cause, detail, source);
}

void LoadPoller::done(std::uint64_t ticket, const smg_load_report* report, std::uint32_t cause,
                      smg_view detail) noexcept {
  LoadPoller* const self = t_poller;
  const auto number = static_cast<std::uint32_t>(ticket >> kNumberShift);
  if (self == nullptr) {
    FaultMeter::count_at(number, Fault::wrong_thread,
                         "a poll was answered on another than the control thread");
    return;
  }
  // Nobody wants to know any more, but the source was not told yet: that is no fault of its.
  if (self->given_up_->erase(ticket) > 0) return;
  const auto found = self->polls_.find(ticket);
  if (found == self->polls_.end() || found->second->answered) {
    FaultMeter::count_at(number, Fault::late_answer, "a poll was answered twice, or too late");
    return;
  }
  Poll& poll = *found->second;
  if ((report != nullptr && !plausible(*report)) ||
      (report == nullptr && (cause == 0 || cause > SMG_NO_REPORT_GAUGE_MISSING)) ||
      !plausible(detail)) {
    FaultMeter::count_at(number, Fault::bad_call, "a poll was answered with what cannot be");
    report = nullptr;
    cause = SMG_NO_REPORT_MALFORMED;
    detail = view("the load source answered with what cannot be");
  }
  if (report != nullptr) {
    const std::shared_ptr<Worker> worker = poll.member->worker;
    const std::string source(poll.source_name);
    poll.member->ticket = 0;
    self->control_.clear_timer(&poll.timer);
    self->polls_.erase(found);
    self->take(worker, *report, source);
    return;
  }
  // What the last source says is shown, unless it only says that it does not apply.
  if (cause != SMG_NO_REPORT_UNSUPPORTED || poll.source == 0) {
    poll.say(cause, text(detail));
  }
  poll.answered = true;
  if (poll.asking) return;  // ask() goes on
  ++poll.source;
  self->ask(poll);
}

void LoadPoller::overdue(smg_timer* timer) {
  Poll& poll = *static_cast<Poll::Timer*>(timer)->poll;
  LoadPoller& self = *poll.owner;
  const std::shared_ptr<Worker> worker = poll.member->worker;
  const std::string source(poll.source_name);
  const auto ended = self.polls_.extract(poll.ticket);
  FaultMeter::count_at(static_cast<std::uint32_t>(poll.ticket >> kNumberShift), Fault::late_answer,
                       "a poll was not answered in time");
  // The source still owes its answer: it is asked again only after a fresh attach.
  self.retire(std::move(self.members_.extract(worker->view().ref).mapped()));
  self.no_report(*ended.mapped(), worker, SMG_NO_REPORT_TIMEOUT,
                 "the load source did not answer in time", source);
}

void LoadPoller::pushed(const std::shared_ptr<Worker>& worker, const smg_load_report& report,
                        std::string_view source) {
  if (take(worker, report, source)) pushed_at_[worker->view().ref] = control_.now();
}

bool LoadPoller::take(const std::shared_ptr<Worker>& worker, const smg_load_report& report,
                      std::string_view source) {
  auto owned = std::make_shared<const LoadReport>(report);
  if (!intake_.report(worker, *owned, source)) return false;
  fed_by_[worker->view().ref] = source;
  set(worker->url(), std::move(owned));
  return true;
}

void LoadPoller::set(const std::string& url, std::shared_ptr<const LoadReport> report) {
  if (report == nullptr) {
    if (current_.erase(url) == 0) return;
  } else {
    current_[url] = std::move(report);
  }
  if (publish_.set) return;
  publish_.set = true;
  control_.set_timer(&publish_, control_.now() + kPublishDelay);
}

void LoadPoller::publish_due(smg_timer* timer) {
  LoadPoller& self = *static_cast<Timer*>(timer)->owner;
  self.publish_.set = false;
  auto fresh = std::make_shared<const LoadReports>(self.current_);
  const std::lock_guard lock(self.mutex_);
  self.published_ = std::move(fresh);
}

}  // namespace smg
