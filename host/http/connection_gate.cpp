// What a request has to pass before its body is read: the drain, who asks, whether there is room.
#include "host/http/admin_call.hpp"
#include "host/http/connection.hpp"
#include "host/http/limits.hpp"
#include "host/routing/error_reply.hpp"

namespace smg {

Connection::Gate Connection::turn_away(std::string_view code, std::string_view message) {
  refused_ = true;
  const std::string body = error_body(503, code, message);
  reply({.status = 503,
         .content_type = "application/json",
         .body = body,
         .error_code = code,
         .extra_headers = "retry-after: 1\r\n",
         .close = true});
  return Gate::refused;
}

Connection::Gate Connection::pass_gates(const http1::RequestHead& head, const HeadFacts& facts) {
  if (route_->access == Access::open) return Gate::open;
  if (excess_) {
    count_limit("connections");
    return turn_away("too_many_connections", "This gateway has no room for connections");
  }
  if (route_->access == Access::admin) return ask_control_plane(head, facts);
  if (env_.shared.draining.load(std::memory_order_relaxed) && !env_.shared.handing_over) {
    count_limit("draining");
    return turn_away("draining", "This gateway is being shut down");
  }
  const auto who = env_.keys->check(facts.authorization);
  if (who.access == ServingKeys::Access::refused) {
    refused_ = true;
    reply({.status = 401, .close = !discardable_});
    return Gate::refused;
  }
  if (who.access == ServingKeys::Access::granted) {
    tenant_.assign(who.tenant);
  } else {
    env_.keys->unknown_tenant(facts.tenant, peer_, tenant_);
  }
  return ask_admission(facts);
}

Connection::Gate Connection::ask_control_plane(const http1::RequestHead& head,
                                               const HeadFacts& facts) {
  const AdminQuery query{.authorization = facts.authorization,
                         .method = head.method,
                         .path = facts.path,
                         .resource = facts.id,
                         .request_id = request_id_};
  if (!env_.config().tls.client_ca_path.empty() && !channel_.verified_client()) {
    refused_ = true;
    reply({.status = 403,
           .content_type = "text/plain; charset=utf-8",
           .body = "A client certificate is required for control plane access",
           .close = !discardable_});
    return Gate::refused;
  }
  Loop& home = env_.loop;
  const auto verdict = env_.shared.control_plane.check(
      query, [&home](smg_task* task) { home.post(task); },
      [this](const AdminVerdict& told) {
        verdict_.reset();
        leave_gate();
        if (accept(told)) take_body();
      },
      verdict_);
  if (!verdict) return Gate::waiting;
  return accept(*verdict) ? Gate::open : Gate::refused;
}

bool Connection::accept(const AdminVerdict& verdict) {
  if (verdict.pass()) return true;
  refused_ = true;
  std::string challenge;
  if (!verdict.challenge.empty()) {
    challenge.append("www-authenticate: ").append(verdict.challenge).append("\r\n");
  }
  drop_request();
  reply({.status = verdict.status,
         .content_type = verdict.text.empty() ? "" : "text/plain; charset=utf-8",
         .body = verdict.text,
         .extra_headers = challenge,
         .close = !discardable_});
  return false;
}

Connection::Gate Connection::ask_admission(const HeadFacts& facts) {
  if (ticket_ == nullptr) ticket_ = new AdmissionTicket(*this, env_.loop);
  AdmissionRefusal refusal;
  const AdmissionRequest request{
      .priority = facts.priority, .tenant = tenant_, .now = env_.loop.now()};
  switch (env_.shared.admission.enter(*ticket_, request, refusal)) {
    case Admission::Answer::admitted:
      return Gate::open;
    case Admission::Answer::waiting:
      return Gate::waiting;
    case Admission::Answer::refused:
      break;
  }
  refuse_admission(refusal);
  return Gate::refused;
}

void Connection::refuse_admission(const AdmissionRefusal& refusal) {
  refused_ = true;
  drop_request();
  const std::string body = error_body(refusal.status, refusal.code, refusal.message);
  const std::string extra =
      "retry-after: " + std::to_string(refusal.retry_after_secs) + "\r\n" +
      (refusal.code == "scheduler_preempted" ? "x-smg-preempted: true\r\n" : "");
  reply({.status = refusal.status,
         .content_type = "application/json",
         .body = body,
         .error_code = refusal.code,
         .extra_headers = extra,
         .close = !discardable_});
}

// Waits at a gate. What has been read of the body stays unlooked at, the rest in the socket.
void Connection::park() {
  phase_ = Phase::parked;
  if (ticket_ != nullptr && ticket_->deadline() != 0) {
    env_.loop.set_timer(&timer_, ticket_->deadline());
  } else {
    env_.loop.clear_timer(&timer_);  // a verdict comes in any case
  }
}

void Connection::waited_long_enough() {
  if (ticket_ == nullptr) return;
  if (const auto refusal = ticket_->expire(env_.loop.now())) {
    leave_gate();
    refuse_admission(*refusal);
  } else if (ticket_->deadline() != 0) {
    env_.loop.set_timer(&timer_, ticket_->deadline());
  }
}

// The body comes after all, be it to be dropped.
void Connection::leave_gate() {
  if (phase_ != Phase::parked) return;
  phase_ = Phase::body;
  set_deadline(env_.config().limits.body_timeout_secs);
  go_on_later();
}

void Connection::admitted() {
  leave_gate();
  take_body();
}

// Room is wanted for a request of a higher class: nothing of the answer's body has gone out.
void Connection::preempted() {
  if (!in_request_ || replied_) return;
  if (is_answering() && exchanging_) {
    exchanging_ = false;
    exchange_.preempt();
    make_room();
  } else {
    refuse_admission(kPreemptedRefusal);
  }
}

void Connection::make_room() {
  making_room_ = false;
  if (held_) take_back_response();
  if (!relaying_) return refuse_admission(kPreemptedRefusal);
  // Its head is out: an empty body, or none that could be mistaken for a whole one.
  if (framing_ == Framing::length) return cut_response();
  end_response();
}

}  // namespace smg
