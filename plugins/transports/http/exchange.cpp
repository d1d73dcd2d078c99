#include "exchange.hpp"

#include "endpoint.hpp"
#include "loop_state.hpp"

namespace smg::http {

Exchange::Exchange() : smg_timer{} {
  fired = deadline_passed;
}

void Exchange::start(LoopState& loop, Endpoint& endpoint, const smg_request& request,
                     const smg_sink& sink, uint64_t ticket, uint64_t* stream) {
  Exchange& exchange = loop.exchanges.acquire();
  exchange.loop_ = &loop;
  exchange.endpoint_ = &endpoint;
  exchange.request_ = &request;
  exchange.sink_ = &sink;
  exchange.ticket_ = ticket;
  exchange.phase_ = SMG_PHASE_CONNECT;
  exchange.resends_ = 0;
  exchange.paused_ = exchange.answered_ = exchange.written_ = false;
  exchange.may_resend_ = (request.flags & SMG_REQUEST_NO_RESEND) == 0;
  *stream = ExchangeTable::number(exchange);
  if (request.deadline != 0) loop.services.set_timer(&exchange, request.deadline);

  Connection* idle = endpoint.pool(loop.index).take();
  if (idle == nullptr) return exchange.dial();
  exchange.connection_ = idle;
  idle->use(exchange, true);
}

void Exchange::dial() {
  dial_ = loop_->dials.make(*loop_, *endpoint_, *this);
  dial_->start();
}

void Exchange::connected(Connection& connection) {
  dial_ = nullptr;
  connection_ = &connection;
  connection.use(*this, false);
}

void Exchange::resume() {
  if (!paused_) return;
  paused_ = false;
  if (connection_ != nullptr) connection_->resume();
}

void Exchange::cancel() {
  detach();
  loop_->services.clear_timer(this);
  loop_->exchanges.release(*this);
}

void Exchange::detach() {
  if (Connection* connection = connection_; connection != nullptr) {
    connection_ = nullptr;
    connection->close();
  }
  if (Dial* dial = dial_; dial != nullptr) {
    dial_ = nullptr;
    dial->abort();
  }
}

void Exchange::deadline_passed(smg_timer* timer) {
  auto& exchange = *static_cast<Exchange*>(timer);
  exchange.detach();
  exchange.end(SMG_END_TIMEOUT, exchange.answered_ ? "the answer was not complete in time"
                                                   : "no answer came in time");
}

void Exchange::first_byte() {
  answered_ = true;
  release_request();
}

void Exchange::request_written(bool reused) {
  written_ = true;
  if (!reused) may_resend_ = false;
  release_request();
}

void Exchange::release_request() {
  if (request_ == nullptr || !written_ || (may_resend_ && !answered_)) return;
  request_ = nullptr;
  if (SMG_HAS(sink_, release) && sink_->release != nullptr) sink_->release(ticket_);
}

void Exchange::deliver(const http1::ResponseHead& head) {
  phase_ = SMG_PHASE_HEAD;
  smg_response_head out{};
  out.struct_size = sizeof out;
  out.status = head.status;
  for (const http1::Field& field : head.fields) {
    loop_->headers[out.header_count++] = {view(field.name), view(field.value)};
  }
  out.headers = loop_->headers.data();
  out.content_length = head.content_length;
  const uint32_t before = generation;
  const bool pause = sink_->head(ticket_, &out) == SMG_PAUSE;
  if (pause && generation == before) paused_ = true;
}

void Exchange::deliver(std::string_view data) {
  phase_ = SMG_PHASE_DATA;
  const uint32_t before = generation;
  const bool pause = sink_->data(ticket_, data.data(), data.size()) == SMG_PAUSE;
  if (pause && generation == before) paused_ = true;
}

bool Exchange::resend() {
  if (!may_resend_ || resends_ > 0) return false;
  ++resends_;
  connection_ = nullptr;
  written_ = false;
  dial();
  return true;
}

void Exchange::end(uint32_t kind, std::string_view detail) {
  smg_outcome outcome{};
  outcome.struct_size = sizeof outcome;
  outcome.kind = kind;
  outcome.phase = phase_;
  outcome.resends = resends_;
  outcome.detail = view(detail);
  const smg_sink& sink = *sink_;
  const uint64_t ticket = ticket_;
  connection_ = nullptr;
  dial_ = nullptr;
  loop_->services.clear_timer(this);
  loop_->exchanges.release(*this);
  sink.end(ticket, &outcome);
}

}  // namespace smg::http
