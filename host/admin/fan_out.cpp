#include "host/admin/fan_out.hpp"

#include "host/base/views.hpp"

namespace smg {

FanOut::FanOut(Calls& calls, std::string_view method, std::string_view path, const Limits& limits,
               std::vector<std::shared_ptr<Worker>> workers, Done done)
    : calls_(calls),
      method_(method),
      path_(path),
      limits_(limits),
      open_(workers.size()),
      done_(std::move(done)) {
  for (auto& worker : workers) {
    slots_.push_back({this, slots_.size(), 0});
    answers_.emplace_back().worker = std::move(worker);
  }
}

FanOut::~FanOut() {
  for (const Slot& slot : slots_) {
    if (slot.handle != 0) calls_.cancel(slot.handle);
  }
}

void FanOut::start() {
  while (asked_ < slots_.size() && asked_ < kMostAtOnce) ask_next();
}

void FanOut::ask_next() {
  Slot& slot = slots_[asked_++];
  smg_call call{};
  call.struct_size = sizeof call;
  call.method = view(method_);
  call.path = view(path_);
  call.timeout_ns = limits_.timeout_ns;
  call.max_response = limits_.max_response;
  slot.handle = calls_.start(answers_[slot.index].worker->view().ref, call, answered, &slot);
}

void FanOut::answered(void* context, const smg_call_result* result) {
  Slot& slot = *static_cast<Slot*>(context);
  FanOut& self = *slot.owner;
  slot.handle = 0;
  Answer& answer = self.answers_[slot.index];
  answer.status = result->status;
  answer.body = text(result->body);
  answer.failure = text(result->detail);
  for (std::uint32_t i = 0; i < result->header_count; ++i) {
    if (equals_ignoring_case(text(result->headers[i].name), "content-type")) {
      answer.content_type = text(result->headers[i].value);
    }
  }
  if (self.asked_ < self.slots_.size()) self.ask_next();
  // Whoever is told may destroy this.
  if (--self.open_ == 0) std::exchange(self.done_, nullptr)(std::move(self.answers_));
}

}  // namespace smg
