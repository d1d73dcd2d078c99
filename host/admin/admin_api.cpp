#include "host/admin/admin_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "host/admin/engine_metrics.hpp"
#include "host/admin/load_json.hpp"
#include "host/admin/worker_json.hpp"
#include "host/base/percent_decode.hpp"
#include "host/metrics/utf8.hpp"
#include "host/routing/error_reply.hpp"

namespace smg {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr FanOut::Limits kFlushLimits{45 * kSecond};
constexpr FanOut::Limits kMetricsLimits{5 * kSecond, 4 << 20};
constexpr FanOut::Limits kInfoLimits{30 * kSecond};

AdminReply text_reply(std::uint32_t status, std::string body) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::move(body),
          .error_code = {},
          .extra_headers = {}};
}

AdminReply merge(const std::vector<FanOut::Answer>& answers) {
  EngineMetrics merged;
  bool any = false;
  for (const auto& answer : answers) {
    any |= answer.ok() && merged.add(answer.body, answer.worker->description().base_url);
  }
  if (!any) return text_reply(500, "All backend requests failed");
  auto text = merged.text();
  return text ? text_reply(200, std::move(*text))
              : text_reply(500, "The merged metrics are larger than 64 MiB");
}

bool serves(const Worker& worker, std::string_view model) {
  const auto& cards = worker.description().models;
  return std::any_of(cards.begin(), cards.end(), [&](const ModelCard& card) {
    return card.id == model ||
           std::find(card.aliases.begin(), card.aliases.end(), model) != card.aliases.end();
  });
}

}  // namespace

AdminReply error_reply(std::uint32_t status, std::string_view code, std::string_view message) {
  AdminReply reply;
  reply.status = status;
  reply.body = error_body(status, code, message);
  reply.error_code = code;
  return reply;
}

void AdminApi::handle(const AdminRequest& request, const Done& done) {
  switch (request.action) {
    case Action::add_worker:
      return add_worker(request, done);
    case Action::list_workers:
      return list_workers(request, done);
    case Action::get_worker:
      return get_worker(request, done);
    case Action::replace_worker:
      return replace_worker(request, done);
    case Action::patch_worker:
      return patch_worker(request, done);
    case Action::delete_worker:
      return delete_worker(request, done);
    case Action::loads:
      return show_loads(request, done);
    case Action::flush_cache:
      return flush_cache(done);
    case Action::engine_metrics:
      return engine_metrics(done);
    case Action::model_info:
      return ask_one("/get_model_info", done);
    case Action::server_info:
      return ask_one("/get_server_info", done);
    case Action::health_generate:
      return ask_one("/health_generate", done);
    case Action::list_plugins:
      return plugins_.list(done);
    case Action::reload_plugin:
      return plugins_.reload(request.id, request.query, done);
    case Action::reload_config:
      return reload_config(done);
    default:
      return done(text_reply(500, "this route has no handler"));
  }
}

std::optional<AdminApi::Workers> AdminApi::selected(const AdminRequest& request,
                                                    const Done& done) const {
  std::optional<std::string> model;
  std::string_view rest = request.query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (!pair.starts_with("model=")) continue;
    model.emplace();
    if (!percent_decode(pair.substr(6), *model)) {
      done(text_reply(400, "the value of 'model' has a '%' that two hex digits do not follow"));
      return std::nullopt;
    }
  }
  Workers workers = registry_.present();
  if (model) std::erase_if(workers, [&](const auto& worker) { return !serves(*worker, *model); });
  return workers;
}

AdminApi::Workers AdminApi::ready() const {
  Workers workers = registry_.present();
  std::erase_if(workers, [](const auto& worker) {
    return (worker->state() & SMG_STATE_STATUS_MASK) != SMG_STATUS_READY;
  });
  return workers;
}

void AdminApi::show_loads(const AdminRequest& request, const Done& done) {
  const auto workers = selected(request, done);
  if (!workers) return;
  const auto reports = loads_.reports();
  std::vector<WorkerLoad> loads;
  for (const auto& worker : *workers) {
    const auto report = reports->find(worker->url());
    if (report != reports->end()) loads.push_back({worker.get(), report->second.get()});
  }
  AdminReply reply;
  reply.body = fleet_load_json(loads, SMG_VERSION, std::time(nullptr));
  done(std::move(reply));
}

void AdminApi::fan_out(std::string_view method, std::string_view path, const FanOut::Limits& limits,
                       Workers workers, FanOut::Done done) {
  const auto place = running_.emplace(running_.end());
  *place = std::make_unique<FanOut>(
      calls_, method, path, limits, std::move(workers),
      [this, place, done = std::move(done)](std::vector<FanOut::Answer> answers) {
        const std::unique_ptr<FanOut> last = std::move(*place);
        running_.erase(place);
        done(std::move(answers));
      });
  (*place)->start();
}

void AdminApi::flush_cache(const Done& done) {
  Workers workers = registry_.present();
  const std::size_t total = workers.size();
  const auto finish = [total, done](const std::vector<FanOut::Answer>& answers) {
    json::array successful, failed;
    for (const auto& answer : answers) {
      const std::string& url = answer.worker->url();
      if (answer.ok()) {
        successful.push_back(json::value(url));
      } else {
        const std::string reason =
            answer.status == 0 ? answer.failure : fmt::format("HTTP {}", answer.status);
        failed.push_back({{"worker", url}, {"error", valid_utf8(reason)}});
      }
    }
    AdminReply reply;
    reply.status = failed.empty() ? 200 : 206;
    json::object body;
    body["status"] = failed.empty() ? "success" : "partial_success";
    if (answers.empty()) {
      body["message"] = "No workers available for cache flush";
    } else if (failed.empty()) {
      body["message"] = fmt::format("Successfully flushed cache on all {} workers", total);
    } else {
      body["message"] = fmt::format("Cache flush completed: {} succeeded, {} failed",
                                    successful.size(), failed.size());
    }
    body["workers_flushed"] = successful.size();
    body["total_http_workers"] = total;
    body["total_grpc_workers"] = 0;
    body["total_zmq_workers_skipped"] = 0;
    body["total_workers"] = total;
    if (!failed.empty()) {
      body["successful"] = std::move(successful);
      body["failed"] = std::move(failed);
    }
    reply.body = json::serialize(body);
    done(std::move(reply));
  };
  if (workers.empty()) return finish({});
  fan_out("POST", "/flush_cache", kFlushLimits, std::move(workers), finish);
}

void AdminApi::engine_metrics(const Done& done) {
  Workers workers = ready();
  std::set<std::string_view> seen;
  std::erase_if(workers, [&](const auto& worker) {
    return !seen.insert(worker->description().base_url).second;
  });
  if (workers.empty()) return done(text_reply(500, "No available workers"));
  fan_out("GET", "/metrics", kMetricsLimits, std::move(workers),
          [this, done](std::vector<FanOut::Answer> answers) {
            background_.submit([answers = std::move(answers), done]() -> Background::Then {
              auto reply = std::make_shared<AdminReply>(merge(answers));
              return [reply, done] { done(std::move(*reply)); };
            });
          });
}

void AdminApi::ask_one(std::string_view path, const Done& done) {
  Workers workers = ready();
  if (workers.empty()) return done(error_reply(503, "no_workers", "No workers are available"));
  // One that is not vetoed, if there is one.
  const auto best = std::find_if(workers.begin(), workers.end(), [](const auto& worker) {
    return smg_state_eligible(worker->state()) != 0;
  });
  Workers chosen{best == workers.end() ? workers.front() : *best};
  fan_out("GET", path, kInfoLimits, std::move(chosen),
          [done](const std::vector<FanOut::Answer>& answers) {
            const FanOut::Answer& answer = answers.front();
            if (answer.status == 0) {
              return done(error_reply(
                  500, "call_upstream_request_error",
                  "Worker '" + answer.worker->url() + "' did not answer: " + answer.failure));
            }
            AdminReply reply;
            reply.status = answer.status;
            reply.content_type = answer.content_type;
            reply.body = answer.body;
            done(std::move(reply));
          });
}

}  // namespace smg
