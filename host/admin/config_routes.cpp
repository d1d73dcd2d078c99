// /config: what of the configuration file is in force.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "host/admin/admin_api.hpp"
#include "host/metrics/utf8.hpp"
#include "host/routing/error_reply.hpp"

namespace smg {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& lines) {
  json::array out;
  for (const auto& line : lines) out.emplace_back(valid_utf8(line));
  return out;
}

AdminReply refused(std::uint32_t status, std::string_view code, const std::string& message,
                   const std::vector<std::string>& problems) {
  AdminReply reply;
  reply.status = status;
  reply.error_code = code;
  json::object error{{"type", json::string(reason_phrase(status))},
                     {"code", json::string(code)},
                     {"message", valid_utf8(message)},
                     {"param", nullptr}};
  json::object body{{"error", std::move(error)}};
  if (!problems.empty()) body["problems"] = texts(problems);
  reply.body = json::serialize(body);
  return reply;
}

AdminReply reply_to(const ConfigReload::Outcome& outcome) {
  if (!outcome.problems.empty()) {
    std::vector<std::string> problems = outcome.problems.lines;
    if (outcome.problems.dropped > 0) {
      problems.push_back("and " + std::to_string(outcome.problems.dropped) + " more");
    }
    return refused(400, "bad_configuration",
                   "nothing has changed, generation " + std::to_string(outcome.generation) +
                       " stays in force: " + problems.front(),
                   problems);
  }
  const ConfigChanges& changes = *outcome.changes;
  json::object body;
  body["generation"] = outcome.generation;
  body["applied"] = texts(changes.applied);
  body["workers"] = {{"added", texts(changes.workers_added)},
                     {"changed", texts(changes.workers_changed)},
                     {"removed", texts(changes.workers_removed)}};
  body["unchanged"] = changes.unchanged;
  body["restart_needed"] = texts(changes.restart_needed);
  body["warnings"] = texts(outcome.warnings);
  AdminReply reply;
  reply.body = json::serialize(body);
  return reply;
}

}  // namespace

void AdminApi::reload_config(const Done& done) {
  if (!reload_.has_file()) {
    return done(refused(409, "no_configuration_file",
                        "The gateway was started without --config, there is nothing to reload",
                        {}));
  }
  reload_.request(ConfigReload::Trigger::request,
                  [done](const ConfigReload::Outcome& outcome) { done(reply_to(outcome)); });
}

}  // namespace smg
