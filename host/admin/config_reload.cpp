#include "host/admin/config_reload.hpp"

#include "host/plugin_reload.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace smg {
namespace {

std::string_view name_of(ConfigReload::Trigger trigger) {
  switch (trigger) {
    case ConfigReload::Trigger::request:
      return "POST /config/reload";
    case ConfigReload::Trigger::signal:
      return "SIGHUP";
    case ConfigReload::Trigger::plugins:
      return "plugins changed";
    case ConfigReload::Trigger::file:
      break;
  }
  return "the file changed";
}

void append_list(std::string& out, std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  out += fmt::format("; {} {}", what, fmt::join(names, ", "));
}

}  // namespace

ConfigReload::ConfigReload(Loop& control, Target& target, Families& families, Bus& bus,
                           ConfigSource source)
    : control_(control),
      target_(target),
      families_(families),
      bus_(bus),
      command_(std::move(source.command)),
      text_(std::move(source.text)),
      in_force_(text_),
      background_(control) {
  if (!has_file()) return;
  watch_.emplace(control_, background_, command_.config_file, [this] { request(Trigger::file); });
}

void ConfigReload::start() {
  started_ = true;
  announce();
  watch();
  serve_next();
}

Result<Config> ConfigReload::read_for(std::span<const smg_plugin* const> plugins) const {
  const auto read = [&](const std::string& text) -> Result<Config> {
    auto draft = read_text(command_, text, command_.config_file);
    if (draft) return finish(std::move(*draft.value), plugins);
    return {std::nullopt, std::move(draft.problems)};
  };
  auto config = read(in_force_);
  if (config || !refused_) return config;
  // A file that was refused may have been written for these very plugins.
  auto awaited = read(text_);
  return awaited ? std::move(awaited) : std::move(config);
}

void ConfigReload::plugins_changed() {
  if (refused_) request(Trigger::plugins);
}

void ConfigReload::watch() {
  if (!watch_) return;
  if (target_.running().server.watch_config) {
    watch_->start();
  } else {
    watch_->stop();
  }
}

void ConfigReload::request(Trigger trigger, Done done) {
  requests_.push_back({trigger, std::move(done)});
  serve_next();
}

void ConfigReload::serve_next() {
  if (!started_ || serving_ || requests_.empty()) return;
  serving_ = true;
  const bool by_watch = requests_.front().trigger == Trigger::file;
  background_.submit(
      [this, plugins = target_.plugins(), unless = by_watch ? std::optional(text_) : std::nullopt] {
        auto reading = std::make_shared<Reading>(read(command_, plugins, unless));
        reading->plugins = plugins.changes;
        return [this, reading] { take(std::move(*reading)); };
      });
}

ConfigReload::Reading ConfigReload::read(const ParsedCommand& command, const Plugins& plugins,
                                         const std::optional<std::string>& unless) {
  Reading reading;
  const std::string& file = command.config_file;
  std::error_code code;
  if (std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code)) {
    reading.text.problems.add(file + ": is no regular file, which can be read once at the most");
  } else {
    reading.text = read_file(command);
  }
  // A file that is being written is empty for a moment; it would take all workers away.
  if (reading.text && reading.text.value->find_first_not_of(" \t\r\n") == std::string::npos) {
    reading.text.problems.add(file + ": is empty; write at least one section, if nothing is meant");
    reading.text.value.reset();
  }
  if (!reading.text) {
    reading.config.problems = reading.text.problems;
    return reading;
  }
  const std::string& text = *reading.text.value;
  reading.is_news = text != unless;
  if (!reading.is_news) return reading;
  auto draft = read_text(command, text, command.config_file);
  if (draft) {
    reading.config = finish(std::move(*draft.value), plugins.descriptors);
  } else {
    reading.config.problems = std::move(draft.problems);
  }
  return reading;
}

void ConfigReload::take(Reading reading) {
  if (!reading.is_news) return end({});
  text_ = std::move(reading.text.value).value_or(std::string());
  if (!reading.config) return fail(std::move(reading.config.problems));
  const Config& wanted = *reading.config.value;
  auto outcome = std::make_shared<Outcome>();
  *outcome->changes = compare(target_.running(), wanted);
  outcome->warnings = wanted.warnings;
  target_.apply(wanted, reading.plugins, outcome->changes,
                [this, outcome, here = std::weak_ptr(here_)](std::string refusal) {
                  if (here.expired()) return;
                  if (refusal.empty()) return succeed(std::move(*outcome));
                  if (refusal == PluginReload::kPluginsMoved) {
                    requests_.front().trigger =
                        Trigger::plugins;  // whose file is read whatever is in it
                    serving_ = false;
                    return serve_next();
                  }
                  Problems problems;
                  problems.add(std::move(refusal));
                  fail(std::move(problems));
                });
}

void ConfigReload::succeed(Outcome outcome) {
  outcome.generation = ++generation_;
  const ConfigChanges& changes = *outcome.changes;
  in_force_ = text_;
  refused_ = false;
  families_.config_reloads.with({changes.any() ? "applied" : "unchanged"}).add();
  announce();
  watch();
  std::string line = fmt::format("configuration reloaded ({}), generation {}",
                                 name_of(requests_.front().trigger), generation_);
  if (!changes.any()) line += "; nothing to apply";
  append_list(line, "applied", changes.applied);
  append_list(line, "workers added", changes.workers_added);
  append_list(line, "workers changed", changes.workers_changed);
  append_list(line, "workers removed", changes.workers_removed);
  append_list(line, "a restart is needed for", changes.restart_needed);
  spdlog::info(line);
  for (const auto& warning : outcome.warnings) spdlog::warn(warning);
  end(outcome);
}

void ConfigReload::fail(Problems problems) {
  refused_ = true;
  families_.config_reloads.with({"failed"}).add();
  spdlog::error("configuration not reloaded ({}), generation {} stays in force:",
                name_of(requests_.front().trigger), generation_);
  for (const auto& problem : problems.lines) spdlog::error(problem);
  if (problems.dropped > 0) spdlog::error("and {} more", problems.dropped);
  Outcome outcome;
  outcome.generation = generation_;
  outcome.problems = std::move(problems);
  end(outcome);
}

void ConfigReload::end(const Outcome& outcome) {
  const Done done = std::move(requests_.front().done);
  requests_.pop_front();
  serving_ = false;
  if (done) done(outcome);
  serve_next();
}

void ConfigReload::announce() {
  families_.config_generation.set(static_cast<double>(generation_));
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_CONFIG_APPLIED;
  event.before = static_cast<std::uint32_t>(generation_ - 1);
  event.after = static_cast<std::uint32_t>(generation_);
  bus_.publish(event.event);
}

}  // namespace smg
