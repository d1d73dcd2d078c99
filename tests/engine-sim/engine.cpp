#include "engine.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "stunts.hpp"

namespace smg::sim {

namespace {

namespace json = boost::json;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; charset=utf-8";

template <class Next>
class DelayExchange final : public Exchange {
 public:
  DelayExchange(Loop& loop, Next next)
      : next_(std::move(next)), timer_(loop.timers(), &DelayExchange::fired, this) {}
  void start(std::int64_t due_ms) { timer_.arm(due_ms); }
  void stop() override { timer_.cancel(); }

 private:
  static void fired(void* self) { static_cast<DelayExchange*>(self)->next_(); }
  Next next_;
  Timer timer_;
};

struct ApiPath {
  std::string_view path;
  Api api;
};

constexpr ApiPath kApis[] = {
    {"/v1/chat/completions", Api::Chat}, {"/v1/completions", Api::Completions},
    {"/generate", Api::Generate},        {"/v1/messages", Api::Messages},
    {"/v1/responses", Api::Responses},   {"/v1/embeddings", Api::Embeddings},
    {"/v1/classify", Api::Classify},     {"/classify", Api::Classify},
    {"/v1/rerank", Api::Rerank},
};

}  // namespace

Engine::Engine(Loop& loop, const EngineSettings& settings, const std::string& host,
               std::uint16_t port, const TlsContext* tls)
    : loop_(loop),
      initial_(settings),
      settings_(settings),
      journal_(settings.journal),
      model_(settings.batch),
      model_timer_(loop.timers(), &Engine::model_due, this),
      port_(loop, host, port, tls, *this) {}

void Engine::model_due(void* self) {
  auto& engine = *static_cast<Engine*>(self);
  engine.model_.advance(Loop::monotonic_ms());
  engine.model_changed();
}

void Engine::model_changed() {
  const double next = model_.next_event();
  if (std::isfinite(next)) {
    model_timer_.arm(static_cast<std::int64_t>(std::ceil(next)));
  } else {
    model_timer_.cancel();
  }
}

void Engine::started(Generation& generation) {
  ++generations_;
  if (generation.paced()) ++paced_;
}

void Engine::ended(Generation& generation, bool complete) {
  if (generation.paced()) {
    --paced_;
    if (complete) paced_tokens_ += generation.answer().request->tokens;
  }
  prompt_tokens_ += generation.answer().request->prompt_tokens;
}

template <class Next>
bool Engine::intercept(Connection& connection, Next& next) {
  if (connection.effects == nullptr) return false;
  Effects& effects = *connection.effects;
  if (effects.hang) return true;
  if (effects.delay_ms > 0) {
    auto exchange = std::make_unique<DelayExchange<Next>>(loop_, std::move(next));
    exchange->start(loop_.now_ms() + std::exchange(effects.delay_ms, 0));
    connection.set_exchange(std::move(exchange));
    return true;
  }
  if (effects.reset_before_head) {
    connection.cut(true);
    return true;
  }
  if (effects.status != 0) {
    Reply(connection).error(effects.status, "simulated failure");
    return true;
  }
  return false;
}

void Engine::head_read(Connection& connection) {
  const Request& request = connection.request();
  journal_.head_read(connection);
  connection.effects = faults_.take(request.method, request.path, connection.request_index() > 0);
  if (connection.effects != nullptr) {
    if (connection.effects->early_status != 0) {
      Reply(connection).early(connection.effects->early_status, connection.effects->early_abrupt);
      return;
    }
    if (connection.effects->hang && !connection.effects->hang_reads_body) {
      connection.stop_reading();
      return;
    }
  }
  if (request.expects_continue) connection.send("HTTP/1.1 100 Continue\r\n\r\n");
}

void Engine::request_read(Connection& connection) {
  journal_.request_read(connection);
  auto next = [this, &connection] {
    auto again = [] {};
    if (!intercept(connection, again)) route(connection);
  };
  if (!intercept(connection, next)) route(connection);
}

void Engine::request_refused(Connection& connection, const std::string& reason) {
  journal_.refused(connection, reason);
  connection.send(
      "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 29\r\n"
      "connection: close\r\n\r\nInvalid HTTP request received");
}

void Engine::reply_sent(Connection& connection) {
  journal_.reply_sent(connection);
}

void Engine::peer_left(Connection& connection, AbortKind kind) {
  journal_.peer_left(connection, kind);
}

void Engine::closed(Connection& connection) {
  port_.forget(connection);
}

void Engine::route(Connection& connection) {
  const std::string_view method = connection.request().method;
  if (method == "GET" || method == "HEAD") return route_get(connection);
  if (method == "POST") return route_post(connection);
  Reply(connection).whole(405, kJson, R"({"detail":"Method Not Allowed"})");
}

void Engine::route_get(Connection& connection) {
  const Request& request = connection.request();
  const std::string_view path = request.path;
  const bool vllm = settings_.dialect == Dialect::Vllm;
  Reply reply(connection);
  if (path == "/health" || path == "/ping" || path == "/health_generate") {
    return reply.whole(200, {}, "");
  }
  if (path == "/v1/models") return reply.whole(200, kJson, models_json());
  if (path == "/metrics") {
    std::string text = metrics_text();
    if (connection.effects != nullptr) {
      for (const auto& [from, to] : connection.effects->replace) {
        for (std::size_t at = text.find(from); at != std::string::npos;
             at = text.find(from, at + to.size())) {
          text.replace(at, from.size(), to);
        }
      }
    }
    return reply.whole(200, "text/plain; version=0.0.4; charset=utf-8", text);
  }
  if (path == "/v1/loads" && settings_.native_loads) {
    return reply.whole(200, kJson, loads_json(request.query));
  }
  if (vllm && path == "/version") return reply.whole(200, kJson, R"({"version":"0.11.0"})");
  if (!vllm && (path == "/server_info" || path == "/get_server_info")) {
    return reply.whole(200, kJson, server_info_json());
  }
  if (!vllm && (path == "/model_info" || path == "/get_model_info")) {
    return reply.whole(200, kJson, model_info_json());
  }
  if (!vllm && path == "/flush_cache") return route_post(connection);
  const bool known = std::any_of(std::begin(kApis), std::end(kApis),
                                 [path](const ApiPath& api) { return api.path == path; });
  if (known) return reply.whole(405, kJson, R"({"detail":"Method Not Allowed"})");
  reply.whole(404, kJson, R"({"detail":"Not Found"})");
}

void Engine::route_post(Connection& connection) {
  const std::string_view path = connection.request().path;
  for (const ApiPath& api : kApis) {
    if (path == api.path) return answer_api(connection, api.api);
  }
  Reply reply(connection);
  if (path == "/flush_cache" || path == "/reset_prefix_cache") {
    model_.flush_cache();
    return reply.whole(200, kText, "Cache flushed.\n");
  }
  if (path == "/start_profile") return reply.whole(200, kText, "Start profiling.\n");
  if (path == "/stop_profile") return reply.whole(200, kText, "Stop profiling.\n");
  if (path == "/v1/audio/transcriptions") {
    return reply.whole(200, kJson, R"({"text":"a simulated transcript"})");
  }
  if (path.starts_with("/v1/responses/") && path.ends_with("/cancel")) {
    return cancel_response(connection, path.substr(14, path.size() - 14 - 7));
  }
  reply.whole(404, kJson, R"({"detail":"Not Found"})");
}

void Engine::answer_api(Connection& connection, Api api) {
  auto request = std::make_unique<ApiRequest>();
  std::string error;
  // The reader keeps the body; the JSON parser wants room behind it, which changes no byte.
  auto& body = const_cast<std::string&>(connection.request().body);
  const ParseOptions options{settings_.batch.block_size, !settings_.fast};
  if (!parse_api_request(api, body, options, *request, error)) {
    return Reply(connection).error(400, error);
  }
  if (!request->fault.empty() || request->delay_ms > 0) {
    if (connection.effects == nullptr) connection.effects = std::make_unique<Effects>();
    connection.effects->delay_ms = request->delay_ms;
    if (!request->fault.empty()) {
      try {
        Fault::parse(json::parse(request->fault).as_object()).apply(*connection.effects);
      } catch (const std::exception& bad) {
        return Reply(connection).error(400, std::string("sim_fault: ") + bad.what());
      }
    }
    auto next = [this, &connection, held = std::move(request)]() mutable {
      auto again = [] {};
      if (!intercept(connection, again)) generate(connection, std::move(held));
    };
    if (!intercept(connection, next)) next();
    return;
  }
  generate(connection, std::move(request));
}

void Engine::generate(Connection& connection, std::unique_ptr<ApiRequest> request) {
  if (request->stunt.any()) return perform_stunt(connection, *request);
  const std::optional<double> interval = request->interval_ms;
  // Stretched tokens leave the lock-step of the batch.
  const bool own_pace = settings_.fast || interval ||
                        (connection.effects != nullptr && connection.effects->interval_factor != 1);
  const double pace = interval ? *interval : (request->stream ? settings_.batch.decode_ms : 0);
  auto generation = std::make_unique<Generation>(*this, connection, std::move(request),
                                                 settings_.model, next_answer_++);
  Generation& started = *generation;
  connection.set_exchange(std::move(generation));
  if (own_pace) return started.start_paced(pace);
  if (!started.start_in_model()) {
    Reply(connection)
        .error(400, "This model's maximum context length is " +
                        std::to_string(std::uint64_t{settings_.batch.kv_blocks} *
                                       settings_.batch.block_size) +
                        " tokens, the request needs more");
  }
}

void Engine::cancel_response(Connection& connection, std::string_view id) {
  for (const auto& [number, other] : port_.connections()) {
    auto* generation = dynamic_cast<Generation*>(other->exchange());
    if (generation == nullptr || generation->answer().id != id) continue;
    std::string body = R"({"id":)";
    append_quoted(body, id);
    body.append(R"(,"object":"response","status":"cancelled"})");
    other->cut(false);
    return Reply(connection).whole(200, kJson, body);
  }
  Reply(connection).error(404, "no response with id '" + std::string(id) + "'");
}

}  // namespace smg::sim
