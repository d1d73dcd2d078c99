#include "host/admin/plugin_routes.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <vector>

#include "host/base/views.hpp"
#include "host/metrics/utf8.hpp"

namespace smg {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& lines) {
  json::array array;
  for (const auto& line : lines) array.push_back(json::value(valid_utf8(line)));
  return array;
}

std::string full_name(const Plugin& plugin) {
  return std::string(kind_name(plugin.kind())) + "." + std::string(plugin.name());
}

json::object describe(const Plugin& plugin) {
  const PluginLibrary& library = *plugin.library;
  json::object object;
  object["name"] = valid_utf8(plugin.name());
  object["kind"] = kind_name(plugin.kind());
  object["version"] = valid_utf8(text(plugin.descriptor.version));
  object["vendor"] = valid_utf8(text(plugin.descriptor.vendor));
  object["abi"] =
      std::to_string(library.table()->abi_major) + "." + std::to_string(library.table()->abi_minor);
  object["path"] = valid_utf8(library.file().string());
  object["hash"] = library.hash();
  object["generation"] = library.generation();
  object["unloadable"] = library.unloadable();
  return object;
}

}  // namespace

void PluginRoutes::list(const Done& done) {
  json::array plugins;
  for (const auto& plugin : plugins_.all()) {
    json::object object = describe(*plugin);
    std::int64_t uses = 0;
    std::uint64_t faults = 0;
    json::array draining;
    bool runs = false, fenced = false;
    object["last_fault"] = nullptr;
    for (const auto& record : instances_.records()) {
      if (record.kind != plugin->kind() || record.name != plugin->name()) continue;
      const auto users = static_cast<std::int64_t>(record.ref.use_count());
      const auto held = record.ref.lock();
      if (held == nullptr) continue;
      if (record.superseded != 0) {
        draining.push_back({{"generation", record.generation}, {"uses", users}});
        continue;
      }
      runs = true;
      uses += users - 1;  // whoever keeps it in service is no use
      faults += record.faults->total();
      fenced = fenced || record.faults->fenced();
      if (const auto last = record.faults->last(); !last.text.empty()) {
        object["last_fault"] = valid_utf8(last.text);
      }
    }
    object["state"] = fenced ? "fenced" : runs ? "running" : "loaded";
    object["faults"] = faults;
    object["uses"] = uses;
    object["draining"] = std::move(draining);
    const auto& file = plugin->library->file();
    object["file_gone"] = reload_.gone().contains(file);
    const auto problem = reload_.problems().find(file);
    object["last_error"] = nullptr;
    if (problem != reload_.problems().end()) object["last_error"] = valid_utf8(problem->second);
    plugins.push_back(std::move(object));
  }
  // Files of which nothing runs.
  json::array refused;
  for (const auto& [file, problem] : reload_.problems()) {
    const auto all = plugins_.all();
    const bool runs = std::any_of(all.begin(), all.end(), [&, &path = file](const auto& plugin) {
      return plugin->library->file() == path;
    });
    if (runs) continue;
    refused.push_back({{"path", valid_utf8(file.string())}, {"error", valid_utf8(problem)}});
  }
  AdminReply reply;
  reply.body = json::serialize(
      json::object{{"plugins", std::move(plugins)}, {"refused", std::move(refused)}});
  done(std::move(reply));
}

void PluginRoutes::reload(std::string_view name, std::string_view query, const Done& done) {
  if (!query.empty() && query != "state=keep" && query != "state=discard") {
    return done(error_reply(400, "invalid_request",
                            "'" + std::string(query) +
                                "' is no query of this route; state=keep and state=discard are"));
  }
  std::set<std::filesystem::path> files;
  std::set<std::string> candidates;
  std::string known;
  for (const auto& plugin : plugins_.all()) {
    const std::string full = full_name(*plugin);
    known += (known.empty() ? "" : ", ") + full;
    if (name == full || name == plugin->name()) {
      files.insert(plugin->library->file());
      candidates.insert(full);
    }
  }
  if (files.empty()) {
    for (const auto& [file, problem] : reload_.problems()) {
      if (file.stem() == name) files.insert(file);
    }
  }
  if (files.empty()) {
    return done(error_reply(404, "plugin_not_found",
                            "no plugin is named '" + valid_utf8(name) + "'; there are " + known));
  }
  if (files.size() > 1) {
    std::string list;
    for (const auto& full : candidates) list += (list.empty() ? "" : ", ") + full;
    return done(
        error_reply(409, "plugin_ambiguous",
                    "several plugins are named '" + std::string(name) + "': say one of " + list));
  }
  reload_.reload({.file = *files.begin(),
                  .keep_state = query != "state=discard",
                  .only_if_changed = false,
                  .done = [done](const PluginReload::Outcome& outcome) {
                    if (!outcome.problem.empty()) {
                      return done(error_reply(422, "plugin_refused", outcome.problem));
                    }
                    AdminReply reply;
                    reply.body =
                        json::serialize(json::object{{"status", "reloaded"},
                                                     {"generation", outcome.generation},
                                                     {"handed_over", texts(outcome.handed_over)},
                                                     {"notes", texts(outcome.notes)}});
                    done(std::move(reply));
                  }});
}

}  // namespace smg
