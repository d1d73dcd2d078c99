#include "host/http/event_stream.hpp"

#include "host/http/connection.hpp"

namespace smg {

EventStream::EventStream(Connection& connection, ListenerLoop& env, EventFilter filter)
    : connection_(&connection),
      home_(env.loop),
      control_(env.shared.loops.control()),
      bus_(env.shared.bus),
      filter_(std::move(filter)) {
  deliver_.run = deliver;
  deliver_.owner = this;
  leave_.run = unsubscribe;
  leave_.owner = this;
}

EventStream* EventStream::open(Connection& connection, ListenerLoop& env, std::string_view query) {
  Client& client = connection;
  std::string error;
  auto filter = parse_event_filter(query, error);
  if (!filter) {
    client.reply({.status = 400, .content_type = "text/plain; charset=utf-8", .body = error});
    return nullptr;
  }
  auto* stream = new EventStream(connection, env, std::move(*filter));
  client.begin_response({.status = 200, .event_stream = true});
  client.send_body(": events of this gateway from now on\n\n");
  stream->subscription_ = stream->bus_.subscribe(
      {.name = "events", .types = stream->filter_.types, .fn = on_event, .context = stream});
  return stream;
}

void EventStream::on_event(void* context, const smg_event* event) {
  auto* self = static_cast<EventStream*>(context);
  if (!self->filter_.matches(*event)) return;
  std::string text;
  append_event_stream(text, *event);
  const std::lock_guard lock(self->mutex_);
  if (self->pending_.size() + text.size() > kMaxPending) {
    ++self->lost_;
    return;
  }
  self->pending_ += text;
  ++self->pending_events_;
  if (self->posted_) return;
  self->posted_ = true;
  self->home_.post(&self->deliver_);
}

void EventStream::deliver(smg_task* task) {
  auto* self = static_cast<Task*>(task)->owner;
  std::string text;
  {
    const std::lock_guard lock(self->mutex_);
    self->posted_ = false;
    if (self->connection_ == nullptr) return;
    if (self->connection_->out_.size() > kMaxPending) {
      self->lost_ += self->pending_events_;
      self->pending_events_ = 0;
      self->pending_.clear();
      return;
    }
    text.swap(self->pending_);
    self->pending_events_ = 0;
    if (self->lost_ > 0) {
      text += ": " + std::to_string(self->lost_) + " events lost, the client reads too slowly\n\n";
      self->lost_ = 0;
    }
  }
  static_cast<Client*>(self->connection_)->send_body(text);
}

void EventStream::detach() {
  connection_ = nullptr;
  control_.post(&leave_);
}

void EventStream::unsubscribe(smg_task* task) {
  auto* self = static_cast<Task*>(task)->owner;
  self->bus_.unsubscribe(self->subscription_);
  // Behind every delivery that was posted before.
  self->leave_.run = destroy;
  self->home_.post(&self->leave_);
}

void EventStream::destroy(smg_task* task) {
  delete static_cast<Task*>(task)->owner;
}

}  // namespace smg
