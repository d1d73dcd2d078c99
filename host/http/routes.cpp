#include "host/http/routes.hpp"

namespace smg {
namespace {

constexpr Route relay(std::string_view path, std::uint32_t endpoint, BodyRules rules,
                      std::string_view worker_path, std::string_view label) {
  return {"POST", path, Action::relay, endpoint, rules, worker_path, label};
}

// The busiest first: look-up is a walk.
constexpr Route kRoutes[] = {
    relay("/v1/chat/completions", SMG_ENDPOINT_CHAT, BodyRules::validated, "/v1/chat/completions",
          "chat"),
    relay("/v1/completions", SMG_ENDPOINT_COMPLETIONS, BodyRules::validated, "/v1/completions",
          "completions"),
    relay("/generate", SMG_ENDPOINT_GENERATE, BodyRules::plain, "/generate", "generate"),
    relay("/v1/messages", SMG_ENDPOINT_MESSAGES, BodyRules::validated, "/v1/messages", "messages"),
    relay("/v1/responses", SMG_ENDPOINT_RESPONSES, BodyRules::validated, "/v1/responses",
          "responses"),
    relay("/v1/embeddings", SMG_ENDPOINT_EMBEDDINGS, BodyRules::plain, "/v1/embeddings", "other"),
    relay("/v1/classify", SMG_ENDPOINT_CLASSIFY, BodyRules::plain, "/v1/classify", "other"),
    relay("/rerank", SMG_ENDPOINT_RERANK, BodyRules::validated, "/v1/rerank", "rerank"),
    relay("/v1/rerank", SMG_ENDPOINT_RERANK, BodyRules::plain, "/v1/rerank", "rerank"),
    {"GET", "/health", Action::health, 0, BodyRules::none, "", ""},
    {"GET", "/liveness", Action::health, 0, BodyRules::none, "", ""},
    {"GET", "/readiness", Action::readiness, 0, BodyRules::none, "", ""},
    {"GET", "/v1/models", Action::models, 0, BodyRules::none, "", ""},
    {"GET", "/events", Action::events, 0, BodyRules::none, "", ""},
};

}  // namespace

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch match;
  for (const Route& route : kRoutes) {
    if (route.path != path) continue;
    match.path_known = true;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      match.route = &route;
      return match;
    }
  }
  return match;
}

std::span<const Route> all_routes() {
  return kRoutes;
}

std::string_view request_id_prefix(std::string_view path) {
  if (path.ends_with("/chat/completions")) return "chatcmpl-";
  if (path.ends_with("/completions")) return "cmpl-";
  if (path.ends_with("/generate")) return "gnt-";
  if (path.ends_with("/responses")) return "resp-";
  if (path.ends_with("/messages")) return "msg_";
  return "req-";
}

}  // namespace smg
