#include "host/http/local_routes.hpp"

#include <set>
#include <string>

#include "host/routing/error_reply.hpp"

namespace smg {
namespace {

void answer_readiness(Client& client, ListenerLoop& env) {
  const FleetSnapshot& fleet = env.routing.fleet();
  std::size_t ready = 0;
  for (const auto& worker : fleet.workers) {
    if ((worker->state() & SMG_STATE_STATUS_MASK) == SMG_STATUS_READY) ++ready;
  }
  const char* reason = nullptr;
  if (env.shared.draining.load(std::memory_order_relaxed)) {
    reason = "draining";
  } else if (ready == 0) {
    reason = "insufficient healthy workers";
  }
  if (reason != nullptr) {
    const std::string body =
        std::string("{\"status\":\"not ready\",\"reason\":\"") + reason + "\"}";
    client.reply({.status = 503, .content_type = "application/json", .body = body});
    return;
  }
  const std::string body = "{\"status\":\"ready\",\"healthy_workers\":" + std::to_string(ready) +
                           ",\"total_workers\":" + std::to_string(fleet.workers.size()) + "}";
  client.reply({.status = 200, .content_type = "application/json", .body = body});
}

void answer_models(Client& client, ListenerLoop& env) {
  std::string data;
  std::set<std::string_view> seen;
  for (const auto& worker : env.routing.fleet().workers) {
    for (const auto& model : worker->description().models) {
      if (model.id == kUnknownModel || !seen.insert(model.id).second) continue;
      if (!data.empty()) data += ',';
      data += "{\"id\":";
      append_json_string(data, model.id);
      data += ",\"object\":\"model\",\"created\":0,\"owned_by\":\"self_hosted\"}";
    }
  }
  if (data.empty()) {
    client.reply({.status = 503,
                  .content_type = "text/plain; charset=utf-8",
                  .body = "No models available"});
    return;
  }
  const std::string body = "{\"object\":\"list\",\"data\":[" + data + "]}";
  client.reply({.status = 200, .content_type = "application/json", .body = body});
}

}  // namespace

void answer_locally(Client& client, const Route& route, ListenerLoop& env) {
  switch (route.action) {
    case Action::readiness:
      answer_readiness(client, env);
      break;
    case Action::models:
      answer_models(client, env);
      break;
    default:
      client.reply({.status = 200, .content_type = "text/plain; charset=utf-8", .body = "OK"});
      break;
  }
}

}  // namespace smg
