#include "fetch.hpp"

#include <bit>

#include "endpoint.hpp"
#include "transport.hpp"

namespace smg::http {

// The ticket of a fetch is its address: it is the only one who ends it.
Fetch& Fetch::of(uint64_t ticket) {
  return *std::bit_cast<Fetch*>(ticket);
}

const smg_sink Fetch::kSink = {
    sizeof(smg_sink),
    0,
    [](uint64_t ticket, const smg_response_head* head) -> int32_t {
      of(ticket).status_ = head->status;
      return SMG_CONTINUE;
    },
    [](uint64_t ticket, const char* data, uint64_t size) -> int32_t {
      Fetch& fetch = of(ticket);
      if (fetch.body_.size() + size <= kMostBytes) {
        fetch.body_.append(data, size);
        return SMG_CONTINUE;
      }
      fetch.cancel();
      fetch.status_ = 0;
      fetch.finish("the answer is larger than 8 MiB");
      return SMG_PAUSE;
    },
    [](uint64_t ticket, const smg_outcome* outcome) {
      Fetch& fetch = of(ticket);
      fetch.stream_ = 0;
      if (outcome->kind != SMG_END_COMPLETE) fetch.status_ = 0;
      fetch.finish(text(outcome->detail));
    },
    nullptr,
};

void Fetch::run(Endpoint& endpoint, std::string_view path, bool anonymous, uint64_t deadline,
                Done done, void* context) {
  endpoint_ = &endpoint;
  done_ = done;
  context_ = context;
  path_ = path;
  status_ = 0;
  body_.clear();
  problem_.clear();
  request_ = {};
  request_.struct_size = sizeof request_;
  request_.endpoint = SMG_ENDPOINT_CONTROL;
  request_.method = view("GET");
  request_.path = view(path_);
  request_.deadline = deadline;
  headers_[0] = {view("accept"), view("application/json, */*")};
  request_.headers = headers_.data();
  request_.header_count = 1;
  if (const auto key = text(endpoint.worker().api_key); !anonymous && !key.empty()) {
    authorization_ = "Bearer ";
    authorization_ += key;
    headers_[1] = {view("authorization"), view(authorization_)};
    request_.header_count = 2;
  }
  Exchange::start(endpoint.transport().here(), endpoint, request_, kSink,
                  std::bit_cast<uint64_t>(this), &stream_);
}

void Fetch::cancel() {
  if (stream_ == 0) return;
  if (Exchange* exchange = endpoint_->transport().here().exchanges.find(stream_);
      exchange != nullptr) {
    exchange->cancel();
  }
  stream_ = 0;
}

void Fetch::finish(std::string_view problem) {
  problem_ = problem;
  done_(context_);
}

}  // namespace smg::http
