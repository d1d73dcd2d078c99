#include "host/http/admin_call.hpp"

#include "host/http/limits.hpp"

namespace smg {

AdminCall::AdminCall(Client& client, ListenerLoop& env, const Route& route, std::string_view id,
                     std::string_view query)
    : client_(&client),
      home_(env.loop),
      control_(env.shared.loops.control()),
      api_(env.shared.admin),
      request_{route.action, std::string(id), std::string(query), {}} {}

bool AdminCall::add_body(std::string_view data) {
  if (request_.body.size() + data.size() > kMaxAdminBody) return false;
  request_.body += data;
  return true;
}

void AdminCall::submit() {
  walk_.run = ask;
  walk_.call = shared_from_this();
  control_.post(&walk_);
}

void AdminCall::ask(smg_task* task) {
  const std::shared_ptr<AdminCall> self = std::move(static_cast<Task*>(task)->call);
  self->api_.handle(self->request_, [self](AdminReply reply) {
    self->reply_ = std::move(reply);
    self->walk_.run = deliver;
    self->walk_.call = self;
    self->home_.post(&self->walk_);
  });
}

void AdminCall::deliver(smg_task* task) {
  const std::shared_ptr<AdminCall> self = std::move(static_cast<Task*>(task)->call);
  if (self->client_ == nullptr) return;
  const AdminReply& reply = self->reply_;
  self->client_->reply({.status = reply.status,
                        .content_type = reply.content_type,
                        .body = reply.body,
                        .error_code = reply.error_code,
                        .extra_headers = reply.extra_headers});
}

}  // namespace smg
