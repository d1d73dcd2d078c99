// One request on its way: read, routed, sent to a worker, its answer passed on, until the end or
// until somebody leaves.
//
// Belongs to one client and one loop. The client fills the request buffer, calls submit(), and from
// then on gets its answer by the Client interface; the last such call (end_response, cut_response
// or reply) may come from within submit() and is the last thing an exchange does: the client may
// reuse or destroy it there. An attempt is known to the transport by a ticket, so what comes too
// late finds nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/fleet/worker.hpp"
#include "host/routing/client.hpp"
#include "host/routing/loop_state.hpp"
#include "host/routing/request/body_error.hpp"
#include "host/routing/request/rerank.hpp"
#include "host/routing/retry_policy.hpp"
#include "host/routing/route.hpp"
#include "host/routing/selection.hpp"
#include "smg/transport.h"

namespace smg {

class Exchange final : public StreamEvents {
 public:
  explicit Exchange(LoopState& state) : state_(state) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Begins a new request. REQUIRES: the last one has ended.
  void open(Client& client, const Route& route);
  RequestBuffer& buffer() { return *buffer_; }
  // Canonical; empty: not known. Kept beyond the end of the request, until it is to be forgotten.
  const std::string& model() const { return model_; }
  void forget_model() { model_.clear(); }
  // The request is there in full, its headers sealed. The id must stay as it is until the request
  // ends.
  void submit(std::string_view request_id);
  // The client took what was kept for it.
  void client_drained();
  // The client is gone: frees the worker at once. No call to the client follows.
  void abort();
  // It makes room for another request: as abort(), but the client stays and gets its answer from
  // the caller.
  void preempt();
  // Forgets a request that was not submitted and will not be.
  void discard() { release_buffer(); }

 private:
  void attempt();
  // Which key keeps this request together with others.
  void take_key();
  std::string_view header_key() const;
  // What the policy is told, from what the loop has just read.
  smg_policy_request policy_request(const FleetSnapshot& fleet, const PolicyRef& policy);
  // False if the request ends here.
  bool accept(const Selection& selection);
  void dispatch(const std::shared_ptr<Worker>& worker, const std::shared_ptr<Endpoint>& endpoint);
  static bool retryable(std::uint32_t status);
  bool should_retry(std::uint32_t status) const;
  RetryPolicy retry_policy() const;
  void retry_later();
  // Ends the running stream here and now.
  void cancel_stream(bool success);
  void leave_worker(bool success);
  // Books how the attempt went by the status that stands for it.
  void record_outcome(std::uint32_t status);
  void shed(std::string_view stage, std::string_view message);
  void release_buffer();
  // The client's answer is made: nothing of the request is needed any more.
  void end_request();
  // False, and the client has its answer, where no further stream may run.
  bool enter_stream();
  // Ends an answer of which the client has a part.
  void cut();
  void look_at_pause();
  void watch_pause();

  std::int32_t on_head(const smg_response_head& head) override;
  std::int32_t on_data(std::string_view data) override;
  void on_end(const smg_outcome& outcome) override;
  void on_release() override;
  void finish_answer();
  void finish_rerank();
  void fail(std::uint32_t status, std::string_view code, std::string_view message,
            bool may_retry = true, std::string_view worker_url = {});
  // The worker's answer is the client's now and cannot be taken back.
  void count_relayed();
  void count_final(std::uint32_t status);
  // 503; `retry_after` in seconds.
  void refuse_busy(std::string_view code, std::string_view message, std::uint64_t retry_after);

  Series router_series(std::size_t what);

  static void timer_fired(smg_timer* timer);

  LoopState& state_;
  Client* client_ = nullptr;
  const Route* route_ = nullptr;
  std::unique_ptr<RequestBuffer> buffer_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<Endpoint> endpoint_;       // of the running attempt
  std::shared_ptr<const PolicyRef> policy_;  // of the running attempt, if it is to hear of the end
  std::string_view request_id_;
  std::string model_;  // canonical
  std::string key_;    // routing key; empty: none
  bool key_from_rid_ = false;
  std::unique_ptr<RerankTerms> rerank_;
  std::unique_ptr<Bytes> answer_;  // rerank: the worker's answer so far
  std::uint64_t ticket_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t routing_key_ = 0;  // hash of the running attempt's key; 0: none
  std::uint64_t last_data_ = 0;    // when the worker sent something of a stream
  std::uint64_t held_bytes_ = 0;   // or dropped, of the running attempt's answer
  std::uint32_t attempts_ = 0;
  std::uint32_t status_ = 0;  // of the worker's answer
  bool streaming_ = false;    // the client asked for a stream
  bool head_sent_ = false;    // the client's answer has begun
  bool held_ = false;         // ... but can still be taken back
  bool paused_ = false;
  bool dropping_ = false;  // the attempt is to be retried, its answer is read for nobody
  bool submitted_ = false;
  bool counted_ = false;  // among the streams that run
  struct Timer : smg_timer {
    Exchange* owner;
  };
  Timer timer_{};  // until the next attempt; while a stream runs, for the worker's next words
};

}  // namespace smg
