#include "host/http/routes.hpp"

namespace smg {
namespace {

constexpr Route relay(std::string_view path, std::uint32_t endpoint, BodyRules rules,
                      std::string_view worker_path, std::string_view label) {
  return {"POST", path, Action::relay, Access::serving, endpoint, rules, worker_path, label};
}

constexpr Route open_to_all(std::string_view path, Action action) {
  return {"GET", path, action, Access::open, 0, BodyRules::none, "", ""};
}

constexpr Route admin(std::string_view method, std::string_view path, Action action,
                      BodyRules rules = BodyRules::none) {
  return {method, path, action, Access::admin, 0, rules, "", ""};
}

// What stands for the name in braces of a route's path; empty if the path is another.
std::string_view named_segment(const Route& route, std::string_view path) {
  const std::size_t stem = route.path.find('{');
  if (stem == std::string_view::npos) return {};
  const std::string_view tail = route.path.substr(route.path.find('}') + 1);
  if (path.size() < stem + tail.size() || !path.starts_with(route.path.substr(0, stem)) ||
      !path.ends_with(tail)) {
    return {};
  }
  const std::string_view segment = path.substr(stem, path.size() - stem - tail.size());
  return segment.find('/') == std::string_view::npos ? segment : std::string_view{};
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
    open_to_all("/health", Action::health),
    open_to_all("/liveness", Action::health),
    open_to_all("/readiness", Action::readiness),
    open_to_all("/v1/models", Action::models),
    open_to_all("/loads", Action::loads),
    open_to_all("/engine_metrics", Action::engine_metrics),
    open_to_all("/get_model_info", Action::model_info),
    open_to_all("/get_server_info", Action::server_info),
    open_to_all("/health_generate", Action::health_generate),
    admin("GET", "/events", Action::events),
    admin("GET", "/workers", Action::list_workers),
    admin("POST", "/workers", Action::add_worker, BodyRules::plain),
    admin("GET", "/workers/{worker_id}", Action::get_worker),
    admin("PUT", "/workers/{worker_id}", Action::replace_worker, BodyRules::plain),
    admin("PATCH", "/workers/{worker_id}", Action::patch_worker, BodyRules::plain),
    admin("DELETE", "/workers/{worker_id}", Action::delete_worker),
    admin("GET", "/get_loads", Action::loads),
    admin("POST", "/flush_cache", Action::flush_cache),
    admin("GET", "/plugins", Action::list_plugins),
    admin("POST", "/plugins/{name}/reload", Action::reload_plugin),
    admin("POST", "/config/reload", Action::reload_config),
};

}  // namespace

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch match;
  for (const Route& route : kRoutes) {
    const std::string_view id = named_segment(route, path);
    if (route.path != path && id.empty()) continue;
    match.path_known = true;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      match.route = &route;
      match.id = id;
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
