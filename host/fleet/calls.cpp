#include "host/fleet/calls.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "host/base/views.hpp"

namespace smg {

// Ends in three steps: the stream ends, `done` is called at the end of the turn, then it is
// deleted.
class Calls::Call final : public StreamEvents {
 public:
  Call(Calls& owner, std::uint64_t handle, const smg_call& call, smg_call_fn done, void* context,
       std::uint32_t caller)
      : owner_(owner), handle_(handle), done_(done), context_(context), caller_(caller) {
    finish_.run = finished;
    finish_.call = this;
    limit_ = call.max_response == 0 ? kMaxResponse : call.max_response;
    result_.struct_size = sizeof result_;
  }
  ~Call() = default;

  void start(std::shared_ptr<Worker> worker, const smg_call& call) {
    worker_ = std::move(worker);
    if (worker_ == nullptr) {
      end(0, SMG_END_REFUSED, "the worker is gone");
      return;
    }
    headers_.assign(call.headers, call.headers + call.header_count);
    const bool has_credential =
        std::any_of(headers_.begin(), headers_.end(), [](const auto& header) {
          return equals_ignoring_case(text(header.name), "authorization");
        });
    if (!has_credential && !worker_->authorization().empty()) {
      headers_.push_back({view("authorization"), view(worker_->authorization())});
    }
    body_ = call.body;
    request_.struct_size = sizeof request_;
    request_.endpoint = SMG_ENDPOINT_CONTROL;
    request_.method = call.method;
    request_.path = call.path;
    request_.headers = headers_.data();
    request_.header_count = static_cast<std::uint32_t>(headers_.size());
    request_.body = &body_;
    request_.body_count = body_.size > 0 ? 1 : 0;
    request_.body_size = body_.size;
    request_.deadline = call.timeout_ns == 0 ? 0 : owner_.control_.now() + call.timeout_ns;
    endpoint_ = worker_->endpoint();
    ticket_ = owner_.table_.insert(this, *endpoint_);
    owner_.table_.start(ticket_, request_);
  }

  // No `done` any more.
  void cancel() {
    done_ = nullptr;
    refuse({});
  }
  void refuse(std::string reason) {
    if (ended_) return;
    owner_.table_.cancel(ticket_);
    end(0, SMG_END_REFUSED, std::move(reason));
  }

 private:
  struct Finish : smg_task {
    Call* call;
  };

  std::int32_t on_head(const smg_response_head& head) override {
    status_ = head.status;
    for (std::uint32_t i = 0; i < head.header_count; ++i) {
      names_.emplace_back(text(head.headers[i].name));
      values_.emplace_back(text(head.headers[i].value));
    }
    return SMG_CONTINUE;
  }

  std::int32_t on_data(std::string_view data) override {
    if (answer_.size() + data.size() <= limit_) {
      answer_ += data;
      return SMG_CONTINUE;
    }
    owner_.table_.cancel(ticket_);
    end(0, SMG_END_BAD_RESPONSE, "the answer is larger than " + std::to_string(limit_) + " bytes");
    return SMG_PAUSE;
  }

  void on_end(const smg_outcome& outcome) override {
    const bool complete = outcome.kind == SMG_END_COMPLETE;
    end(complete ? status_ : 0, outcome.kind, std::string(text(outcome.detail)));
  }

  void end(std::uint32_t status, std::uint32_t kind, std::string detail) {
    if (ended_) return;
    ended_ = true;
    owner_.table_.erase(ticket_);
    result_.status = status;
    result_.end = kind;
    detail_ = std::move(detail);
    owner_.control_.defer(&finish_);
  }

  static void finished(smg_task* task) {
    Call& self = *static_cast<Finish*>(task)->call;
    const auto place = self.owner_.running_.find(self.handle_);
    const std::unique_ptr<Call> last = std::move(place->second);
    self.owner_.running_.erase(place);
    if (self.done_ == nullptr) return;
    std::vector<smg_header> headers;
    for (std::size_t i = 0; i < self.names_.size(); ++i) {
      headers.push_back({view(self.names_[i]), view(self.values_[i])});
    }
    self.result_.headers = headers.data();
    self.result_.header_count = static_cast<std::uint32_t>(headers.size());
    self.result_.body = view(self.answer_);
    self.result_.detail = view(self.detail_);
    try {
      self.done_(self.context_, &self.result_);
    } catch (...) {
      FaultMeter::count_exception_at(self.caller_, "the answer to a call");
    }
  }

  Calls& owner_;
  const std::uint64_t handle_;
  smg_call_fn done_;
  void* const context_;
  const std::uint32_t caller_;
  Finish finish_{};
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Endpoint> endpoint_;  // where it was started
  std::vector<smg_header> headers_;
  smg_view body_{};
  smg_request request_{};
  std::uint64_t ticket_ = 0;
  std::uint64_t limit_ = 0;
  bool ended_ = false;
  std::uint32_t status_ = 0;
  std::vector<std::string> names_, values_;
  std::string answer_;
  std::string detail_;
  smg_call_result result_{};
};

Calls::Calls(Loop& control, const Registry& registry)
    : control_(control), registry_(registry), table_(control.index()) {}

Calls::~Calls() = default;

std::uint64_t Calls::start(std::uint64_t worker_ref, const smg_call& call, smg_call_fn done,
                           void* context, std::uint32_t caller) {
  const std::uint64_t handle = next_handle_++;
  auto started = std::make_unique<Call>(*this, handle, call, done, context, caller);
  Call& running = *started;
  running_.emplace(handle, std::move(started));
  running.start(registry_.served(worker_ref), call);
  return handle;
}

void Calls::cancel(std::uint64_t handle) {
  const auto found = running_.find(handle);
  if (found != running_.end()) found->second->cancel();
}

void Calls::end_all() {
  for (const auto& [handle, call] : running_) call->refuse("the gateway stops");
}

}  // namespace smg
