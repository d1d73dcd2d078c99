// The control port: faults and settings while the engines run.
#include <boost/json.hpp>

#include <sys/epoll.h>
#include <unistd.h>
#include <algorithm>

#include "server.hpp"

namespace smg::sim {
namespace json = boost::json;

std::string Server::state_json() const {
  json::array list;
  for (const auto& engine : engines_) {
    json::array seen;
    for (const auto& request : engine->seen) {
      seen.push_back({{"method", request.method},
                      {"target", request.target},
                      {"body_bytes", request.body_bytes}});
    }
    json::array faults;
    for (const auto& fault : engine->faults) {
      faults.push_back({{"kind", fault.kind}, {"count", fault.count}, {"after", fault.after}});
    }
    list.push_back({{"port", engine->port},
                    {"requests", engine->requests},
                    {"completed", engine->completed},
                    {"aborted", engine->aborted},
                    {"connections", engine->connections},
                    {"running", engine->model.running()},
                    {"waiting", engine->model.waiting()},
                    {"token_usage", engine->model.token_usage()},
                    {"cache_hit_rate", engine->model.hit_rate()},
                    {"tokens", engine->model.tokens_made()},
                    {"faults", std::move(faults)},
                    {"seen", std::move(seen)}});
  }
  return json::serialize(json::object{{"engines", std::move(list)}});
}

void Server::refuse(Engine& engine, bool on) {
  if (on == (engine.listener < 0)) return;
  if (on) {
    close(engine.listener);
    engine.listener = -1;
    return;
  }
  std::string error;
  std::uint16_t bound = 0;
  engine.listener = listen_on(engine.port, bound, error);
}

void Server::apply(int index, const Fault& fault) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    if (index >= 0 && static_cast<std::size_t>(index) != i) continue;
    Engine& engine = *engines_[i];
    if (fault.kind == "none") {
      engine.faults.clear();
      refuse(engine, false);
      continue;
    }
    engine.faults.push_back(fault);
    if (fault.kind == "refuse") refuse(engine, true);
  }
}

void Server::control(Connection& connection, const std::string& method, const std::string& target,
                     const std::string& body) {
  constexpr std::string_view kJson = "application/json";
  const auto bad = [&](const std::string& text) {
    reply(connection, 400, kJson, json::serialize(json::object{{"error", text}}));
  };
  if (method == "GET" && target == "/state") return reply(connection, 200, kJson, state_json());
  json::error_code error;
  const json::value parsed = json::parse(body.empty() ? "{}" : json::string_view(body), error);
  if (error || !parsed.is_object()) return bad("the body must be a JSON object");
  const json::object& fields = parsed.get_object();
  const auto number = [&](const char* key, double otherwise) {
    const auto* value = fields.if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<double>() : otherwise;
  };
  const int engine = static_cast<int>(number("engine", -1));
  if (engine >= static_cast<int>(engines_.size()))
    return bad("engine must be below " + std::to_string(engines_.size()));
  if (target == "/fault") {
    Fault fault;
    if (const auto* kind = fields.if_contains("kind"); kind != nullptr && kind->is_string()) {
      fault.kind = kind->get_string().c_str();
    }
    if (!is_fault(fault.kind)) return bad("kind must be one of: " + std::string(fault_kinds()));
    fault.count = static_cast<std::int64_t>(number("count", -1));
    fault.after = static_cast<std::int64_t>(number("after", 0));
    apply(engine, fault);
  } else if (target == "/reset") {
    apply(engine, {"none", -1, 0});
    for (auto& each : engines_) {
      each->requests = each->completed = each->aborted = 0;
      each->seen.clear();
    }
  } else if (target == "/config") {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      if (engine >= 0 && static_cast<std::size_t>(engine) != i) continue;
      ModelSettings& settings = engines_[i]->model.settings();
      settings.max_running =
          static_cast<std::uint32_t>(number("max_running", settings.max_running));
      settings.kv_blocks =
          std::max(1u, static_cast<std::uint32_t>(number("kv_blocks", settings.kv_blocks)));
      settings.prefill_rate = std::max(1.0, number("prefill_rate", settings.prefill_rate));
      settings.decode_ms = std::max(0.0, number("decode_ms", settings.decode_ms));
      settings.decode_growth = std::max(0.0, number("decode_growth", settings.decode_growth));
    }
  } else {
    return reply(connection, 404, kJson, R"({"error":"GET /state, POST /fault, /reset, /config"})");
  }
  reply(connection, 200, kJson, "{}");
}

}  // namespace smg::sim
