// Which sources serve which worker, and what becomes of that when workers or sources change.
#include <algorithm>
#include <array>
#include <utility>

#include "host/load/load_poll.hpp"

namespace smg {

LoadPoller::Member::~Member() {
  for (const Source& source : sources) {
    guarded(source.monitor->faults, "detach", [&] { source.monitor->api->detach(source.handle); });
  }
}

struct LoadPoller::Retired : smg_task {
  std::unique_ptr<Member> member;
  std::shared_ptr<std::unordered_set<std::uint64_t>> given_up;
  std::uint64_t ticket;

  static void end(smg_task* task) {
    const std::unique_ptr<Retired> self(static_cast<Retired*>(task));
    self->member.reset();
    self->given_up->erase(self->ticket);
  }
};

void LoadPoller::retire(std::unique_ptr<Member> member) {
  auto* retired = new Retired{};
  retired->run = Retired::end;
  retired->given_up = given_up_;
  retired->ticket = member->ticket;
  retired->member = std::move(member);
  control_.defer(retired);
}

LoadPoller::Member& LoadPoller::member(const std::shared_ptr<Worker>& worker) {
  auto& entry = members_[worker->view().ref];
  if (entry != nullptr) return *entry;
  entry = std::make_unique<Member>();
  entry->worker = worker;
  std::vector<std::pair<std::uint32_t, MonitorPtr>> matches;
  for (const MonitorPtr& monitor : monitors_) {
    std::uint32_t score = 0;
    if (monitor->fenced()) {
      entry->fenced = monitor;
      continue;
    }
    guarded(monitor->faults, "match",
            [&] { score = monitor->api->match(monitor->self, &worker->view()); });
    if (score > 0) matches.emplace_back(score, monitor);
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [score, monitor] : matches) {
    void* handle = nullptr;
    std::array<char, 512> text;
    smg_error error{text.data(), text.size(), 0};
    smg_status status = SMG_E_INTERNAL;
    guarded(monitor->faults, "attach", [&, to = monitor] {
      status = to->api->attach(to->self, &worker->view(), &handle, &error);
    });
    if (status == SMG_OK) {
      entry->sources.push_back({monitor, handle});
    }
  }
  return *entry;
}

void LoadPoller::evict(const Worker& worker) {
  pushed_at_.erase(worker.view().ref);
  fed_by_.erase(worker.view().ref);
  drop_member(worker.view().ref);
  set(worker.url(), nullptr);
}

void LoadPoller::drop_member(std::uint64_t ref) {
  const auto found = members_.find(ref);
  if (found == members_.end()) return;
  if (const auto poll = polls_.find(found->second->ticket); poll != polls_.end()) {
    control_.clear_timer(&poll->second->timer);
    given_up_->insert(found->second->ticket);
    polls_.erase(poll);
  }
  retire(std::move(found->second));
  members_.erase(found);
}

void LoadPoller::add(const MonitorPtr& monitor) {
  monitors_.push_back(monitor);
  std::vector<std::uint64_t> suited;
  for (const auto& [ref, member] : members_) {
    if (monitor->api->match(monitor->self, &member->worker->view()) > 0) suited.push_back(ref);
  }
  for (const std::uint64_t ref : suited) drop_member(ref);
  poll_all_soon();
}

void LoadPoller::replace(const MonitorPtr& before, const MonitorPtr& after) {
  std::replace(monitors_.begin(), monitors_.end(), before, after);
  std::vector<std::uint64_t> refs;
  for (const auto& [ref, member] : members_) refs.push_back(ref);
  // All of them: the new one may suit others than the old one did.
  for (const std::uint64_t ref : refs) drop_member(ref);
  for (const auto& worker : registry_.present()) {
    const auto fed = fed_by_.find(worker->view().ref);
    // A report that was pushed has the instance's name.
    if (fed == fed_by_.end() ||
        (fed->second != before->name && fed->second != "monitor." + before->name)) {
      continue;
    }
    fed_by_.erase(fed);
    pushed_at_.erase(worker->view().ref);
    set(worker->url(), nullptr);
    intake_.reset(worker);
  }
  poll_all_soon();
}

void LoadPoller::poll_all_soon() {
  for (const auto& [model, group] : groups_) control_.set_timer(&group->timer, control_.now());
}

}  // namespace smg
