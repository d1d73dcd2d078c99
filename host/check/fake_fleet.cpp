#include "host/check/fake_fleet.hpp"

#include <cstddef>
#include <utility>

#include "host/base/views.hpp"
#include "smg/transport.h"

namespace smg::check {
namespace {

FakeFleet::Answer refused() {
  FakeFleet::Answer answer;
  answer.status = 0;
  answer.end = SMG_END_CONNECT_FAILED;
  answer.detail = "connection refused";
  return answer;
}

}  // namespace

struct FakeFleet::Open : smg_task {
  struct Limit : smg_timer {
    Open* call = nullptr;
  };
  Limit limit;
  FakeFleet* owner = nullptr;
  std::uint64_t handle = 0;
  smg_call_fn done = nullptr;
  void* context = nullptr;
  Answer given;
};

FakeFleet::FakeFleet(Loop& control) : control_(control) {}
FakeFleet::~FakeFleet() = default;

std::uint64_t FakeFleet::call(const smg_call& call, smg_call_fn done, void* context) {
  auto open = std::make_unique<Open>();
  open->owner = this;
  open->handle = ++last_;
  open->done = done;
  open->context = context;
  open->given = answer ? answer(text(call.path)) : refused();
  if (open->given.silent) {
    open->limit.call = open.get();
    open->limit.fired = [](smg_timer* timer) {
      Open& self = *static_cast<Open::Limit*>(timer)->call;
      FakeFleet& owner = *self.owner;
      Answer late;
      late.status = 0;
      late.end = SMG_END_TIMEOUT;
      late.detail = "the time limit passed";
      owner.finish(self.handle, late);
    };
    control_.set_timer(&open->limit, control_.now() + call.timeout_ns);
  } else {
    open->run = [](smg_task* task) {
      auto* const self = static_cast<Open*>(task);
      FakeFleet& owner = *self->owner;
      owner.finish(self->handle, Answer(self->given));
      std::erase_if(owner.done_, [&](const auto& each) { return each.get() == self; });
    };
    control_.post(open.get());
  }
  const std::uint64_t handle = open->handle;
  open_.emplace(handle, std::move(open));
  return handle;
}

void FakeFleet::cancel(std::uint64_t handle) {
  const auto found = open_.find(handle);
  if (found == open_.end()) return;
  control_.clear_timer(&found->second->limit);
  if (!found->second->given.silent) done_.push_back(std::move(found->second));
  open_.erase(found);
}

void FakeFleet::finish(std::uint64_t handle, const Answer& given) {
  const auto found = open_.find(handle);
  if (found == open_.end()) return;  // cancelled
  const smg_call_fn done = found->second->done;
  void* const context = found->second->context;
  cancel(handle);
  smg_call_result result{};
  result.struct_size = sizeof result;
  result.status = given.status;
  result.end = given.end;
  result.body = view(given.body);
  result.detail = view(given.detail);
  done(context, &result);
}

std::string report_problem(const smg_load_report* report) {
  constexpr std::uint32_t kMostRanks = 4096;
  if (report == nullptr) return "the report is NULL";
  if (report->struct_size < sizeof(smg_load_report)) {
    return "the report has struct_size " + std::to_string(report->struct_size) + ", not " +
           std::to_string(sizeof(smg_load_report));
  }
  if (report->rank_count > kMostRanks) {
    return "the report is of " + std::to_string(report->rank_count) + " ranks; at most " +
           std::to_string(kMostRanks) + " make sense";
  }
  if (report->rank_count == 0) return {};
  if (report->ranks == nullptr || report->rank_stride < report->ranks->struct_size ||
      report->ranks->struct_size < offsetof(smg_rank_load, disagg_mode)) {
    return "the report has no ranks, or a rank_stride that is not sizeof(smg_rank_load)";
  }
  return {};
}

}  // namespace smg::check
