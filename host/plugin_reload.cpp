#include "host/plugin_reload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "host/base/views.hpp"
#include "host/plugin/state_handover.hpp"

namespace smg {

struct PluginReload::Job {
  template <class Ref>
  struct Pair {
    Ref before, after;
  };

  Order order;
  std::string library;      // what metrics and events call it: the file's name without .so
  std::uint64_t begun = 0;  // the running step
  std::optional<StagedLibrary> staged;
  PluginRegistry::Plugins plugins;
  PluginInstances::Options options;
  std::vector<Pair<PolicyPtr>> policies;
  std::vector<Pair<TransportPtr>> transports;
  std::vector<Pair<MonitorPtr>> monitors;  // `before` is nullptr for a new one
  std::string failed_step;
  Outcome outcome;
};

// A library on its way out: once round all loops, so that no thread is still on its way back from a
// call into it, then to the background to be closed.
struct PluginReload::Farewell : smg_task {
  PluginReload* owner;
  std::unique_ptr<PluginLibrary> library;
  std::uint32_t loop = 0;
};

PluginReload::PluginReload(Parts parts, bool watch)
    : parts_(std::move(parts)),
      control_(parts_.loops.control()),
      background_(std::make_unique<Background>(control_)) {
  parts_.plugins.on_retire(
      [this](std::unique_ptr<PluginLibrary> last) { retire(std::move(last)); });
  for (const auto& plugin : parts_.plugins.all()) {
    const PluginLibrary& library = *plugin->library;
    sightings_[library.file()] = {library.signature(), library.signature()};
    parts_.families.plugin_generation.with({library.file().stem().string()})
        .set(static_cast<double>(library.generation()));
  }
  timer_.owner = this;
  timer_.fired = look;
  if (watch) control_.set_timer(&timer_, control_.now() + kLookInterval);
}

void PluginReload::stop() {
  control_.clear_timer(&timer_);
  stopped_ = true;
  jobs_.clear();
}

PluginReload::~PluginReload() {
  background_.reset();
  parts_.plugins.on_retire({});
}

void PluginReload::reload(Order order) {
  if (stopped_) return;
  auto job = std::make_shared<Job>();
  job->library = order.file.stem().string();
  job->order = std::move(order);
  jobs_.push_back(std::move(job));
  if (jobs_.size() == 1) next();
}

void PluginReload::next() {
  if (jobs_.empty()) return;
  const std::shared_ptr<Job> job = jobs_.front();
  job->begun = Loop::clock();
  std::string present;
  for (const auto& plugin : parts_.plugins.all()) {
    if (plugin->library->file() == job->order.file) present = plugin->library->hash();
  }
  const auto tables = std::make_shared<const OptionTables>(parts_.instances.options().configured);
  background_->submit([this, job, present, tables]() -> Background::Then {
    std::string error;
    const auto fail = [&](std::string_view step) {
      job->failed_step = step;
      job->outcome.problem = error;
      if (job->staged) {
        std::error_code ignored;
        std::filesystem::remove(job->staged->copy, ignored);
      }
      return [this, job] { prepared(job); };
    };
    job->staged = PluginLibrary::stage(job->order.file, parts_.plugins.run_dir(), error);
    if (!job->staged) return fail("copy");
    if (job->order.only_if_changed && job->staged->hash == present) {
      job->outcome.unchanged = true;
      return fail("");
    }
    if (error = smoke_test(*job->staged, parts_.checker, *tables); !error.empty()) {
      return fail("canary");
    }
    const auto library = PluginLibrary::open(*job->staged, parts_.plugins.retire_hook(), error);
    if (library == nullptr) return fail("create");
    job->plugins = PluginRegistry::plugins_of(library, error);
    if (!error.empty()) job->failed_step = "create";
    job->outcome.problem = error;
    return [this, job] { prepared(job); };
  });
}

void PluginReload::prepared(const std::shared_ptr<Job>& job) {
  if (stopped_) return;
  if (job->staged) {
    auto& sighting = sightings_[job->order.file];
    sighting.seen = sighting.dealt_with = job->staged->signature;
  }
  if (job->outcome.unchanged) return end(job);
  if (job->failed_step == "copy") return refuse(job, "copy", job->outcome.problem);
  passed(*job, "copy");
  if (job->failed_step == "canary") return refuse(job, "canary", job->outcome.problem);
  passed(*job, "canary");
  if (!job->failed_step.empty()) return refuse(job, "create", job->outcome.problem);
  if (!create(*job)) return refuse(job, "create", job->outcome.problem);
  hand_over(job);
}

// A successor for every instance. False: the job's outcome says why there is none.
bool PluginReload::create(Job& job) {
  std::string& error = job.outcome.problem;
  error = parts_.plugins.misfit(job.order.file, job.plugins);
  if (!error.empty()) return false;
  const auto config = parts_.refit(parts_.plugins.descriptors_with(job.order.file, job.plugins));
  if (!config) {
    error = job.order.file.string() +
            ": does not fit the configuration: " + config.problems.lines.front();
    return false;
  }
  job.options = {config.value->plugin_options, config.value->label_options};
  for (const auto& plugin : job.plugins) {
    const std::string name(plugin->name());
    if (plugin->kind() == SMG_KIND_POLICY) {
      for (const auto& [before, which] : parts_.policies.instances(name)) {
        auto after = parts_.instances.make_policy(plugin, which, job.options, error);
        if (after == nullptr) break;
        job.policies.push_back({before, std::move(after)});
      }
    } else if (plugin->kind() == SMG_KIND_TRANSPORT) {
      if (auto before = parts_.instances.transport(name); before != nullptr) {
        auto after = parts_.instances.make_transport(plugin, job.options, error);
        if (after != nullptr) job.transports.push_back({std::move(before), std::move(after)});
      }
    } else if (auto after = parts_.instances.make_monitor(plugin, job.options, error)) {
      const auto& all = parts_.loads.monitors();
      const auto before = std::find_if(
          all.begin(), all.end(), [&](const MonitorPtr& monitor) { return monitor->name == name; });
      job.monitors.push_back({before == all.end() ? nullptr : *before, std::move(after)});
    }
    if (!error.empty()) {
      error = job.order.file.string() + ": " + error;
      return false;
    }
  }
  return true;
}

void PluginReload::hand_over(const std::shared_ptr<Job>& job) {
  for (const auto& [before, after] : job->policies) parts_.registry.introduce(after, before);
  if (!job->order.keep_state || job->policies.empty()) return swap(job);
  background_->submit([this, job]() -> Background::Then {
    for (const auto& [before, after] : job->policies) {
      const std::string note = hand_over_state(*before->instance, *after->instance);
      if (note.empty()) {
        job->outcome.handed_over.push_back("policy." + after->name);
      } else if (note != kNoHandover) {
        job->outcome.notes.push_back("policy." + after->name +
                                     " begins without what it knew: " + note);
      }
    }
    return [this, job] { swap(job); };
  });
}

void PluginReload::swap(const std::shared_ptr<Job>& job) {
  if (stopped_) return;
  passed(*job, "create");
  std::string error;
  for (auto pair = job->transports.begin(); pair != job->transports.end(); ++pair) {
    if (parts_.registry.move_workers(*pair->before, pair->after, error)) continue;
    // All or nothing.
    while (pair != job->transports.begin()) {
      --pair;
      std::string ignored;
      parts_.registry.move_workers(*pair->after, pair->before, ignored);
    }
    return refuse(job, "swap", job->order.file.string() + ": " + error);
  }
  for (const auto& [before, after] : job->transports) {
    parts_.instances.replace_transport(after);
    parts_.instances.supersede(before);
  }
  for (const auto& [before, after] : job->policies) {
    parts_.policies.replace(before, after);
    parts_.instances.supersede(before);
  }
  parts_.registry.change_policies(
      [this](std::string_view model, const Worker* first, const PolicyPtr& present) {
        return parts_.policies.choose_again(model, first, present);
      });
  for (const auto& [before, after] : job->monitors) {
    if (before == nullptr) {
      parts_.loads.add(after);
      continue;
    }
    spdlog::warn(
        "load source {} is exchanged: what it reported is forgotten, workers that were "
        "overloaded by it take requests until they report again",
        after->name);
    parts_.loads.replace(before, after);
    parts_.instances.supersede(before);
  }
  parts_.plugins.install(job->order.file, job->plugins);
  parts_.instances.set_options(job->options);
  job->outcome.generation = job->staged->generation;
  parts_.families.plugin_generation.with({job->library})
      .set(static_cast<double>(job->staged->generation));
  passed(*job, "swap");
  for (const auto& plugin : job->plugins) {
    parts_.instances.announce(text(plugin->descriptor.name),
                              "running generation " + std::to_string(job->staged->generation));
    spdlog::info("{} {} version {} runs now, generation {} of {}", kind_name(plugin->kind()),
                 plugin->name(), text(plugin->descriptor.version), job->staged->generation,
                 job->order.file.string());
  }
  for (const auto& note : job->outcome.notes) spdlog::warn(note);
  end(job);
}

void PluginReload::refuse(const std::shared_ptr<Job>& job, std::string_view step,
                          std::string problem) {
  parts_.registry.withdraw();
  parts_.families.plugin_reload_steps.with({job->library, step, "failed"}).add();
  parts_.instances.announce(job->library, "refused: " + problem);
  spdlog::error("{}; what ran before goes on", problem);
  job->outcome.problem = std::move(problem);
  end(job);
}

void PluginReload::passed(Job& job, std::string_view step) {
  const std::uint64_t now = Loop::clock();
  parts_.families.plugin_reload_steps.with({job.library, step, "ok"}).add();
  parts_.families.plugin_reload_duration.with({step}).observe(static_cast<double>(now - job.begun) /
                                                              1e9);
  parts_.instances.announce(job.library, std::string("reload: passed ") + std::string(step));
  job.begun = now;
}

void PluginReload::end(const std::shared_ptr<Job>& job) {
  const std::filesystem::path& file = job->order.file;
  if (job->outcome.unchanged || job->outcome.problem.empty()) {
    problems_.erase(file);
    gone_.erase(file);
  } else {
    problems_[file] = job->outcome.problem;
  }
  // Whoever else holds the job does not keep what it replaced.
  job->policies.clear();
  job->transports.clear();
  job->monitors.clear();
  job->plugins.clear();
  if (job->order.done) job->order.done(job->outcome);
  jobs_.pop_front();
  next();
}

void PluginReload::look(smg_timer* timer) {
  PluginReload& self = *static_cast<Timer*>(timer)->owner;
  self.control_.set_timer(timer, self.control_.now() + kLookInterval);
  self.warn_of_late_ones();
  if (self.looking_ || !self.jobs_.empty()) return;
  self.looking_ = true;
  self.background_->submit([&self]() -> Background::Then {
    std::vector<std::string> problems;
    std::map<std::filesystem::path, FileSignature> found;
    for (const auto& file : self.parts_.plugins.search(problems)) {
      found.emplace(file, FileSignature::of(file));
    }
    // A directory that cannot be read says nothing about the files in it.
    const bool complete = problems.empty();
    return [&self, found = std::move(found), complete] {
      self.looking_ = false;
      self.looked(found, complete);
    };
  });
}

void PluginReload::looked(const std::map<std::filesystem::path, FileSignature>& found,
                          bool complete) {
  for (const auto& [file, signature] : found) {
    auto& sighting = sightings_[file];
    const bool settled = signature == sighting.seen;
    sighting.seen = signature;
    if (!signature || signature == sighting.dealt_with || !settled) continue;
    sighting.dealt_with = signature;
    reload({.file = file, .keep_state = true, .only_if_changed = true, .done = {}});
  }
  for (auto sighting = sightings_.begin(); sighting != sightings_.end();) {
    if (found.contains(sighting->first) || !complete) {
      ++sighting;
      continue;
    }
    const std::filesystem::path file = sighting->first;
    sighting = sightings_.erase(sighting);
    problems_.erase(file);
    const auto all = parts_.plugins.all();
    const bool loaded = std::any_of(all.begin(), all.end(), [&](const auto& plugin) {
      return plugin->library->file() == file;
    });
    if (!loaded) continue;
    gone_.insert(file);
    parts_.instances.announce(file.stem().string(), "file gone");
    spdlog::warn("{} is gone; what was loaded from it runs on, but not after a restart",
                 file.string());
  }
}

void PluginReload::reload_changed(std::function<void(const Summary&)> done) {
  background_->submit([this, done = std::move(done)]() -> Background::Then {
    auto summary = std::make_shared<Summary>();
    const auto files = parts_.plugins.search(summary->problems);
    return [this, files, summary, done] {
      for (const auto& problem : summary->problems) spdlog::error(problem);
      const auto left = std::make_shared<std::size_t>(files.size() + 1);
      const auto one_less = [summary, left, done] {
        if (--*left == 0 && done) done(*summary);
      };
      for (const auto& file : files) {
        reload({.file = file,
                .keep_state = true,
                .only_if_changed = true,
                .done = [summary, file, one_less](const Outcome& outcome) {
                  if (!outcome.problem.empty()) {
                    summary->problems.push_back(outcome.problem);
                  } else if (!outcome.unchanged) {
                    summary->reloaded.push_back(file.stem().string());
                  }
                  one_less();
                }});
      }
      one_less();
    };
  });
}

void PluginReload::retire(std::unique_ptr<PluginLibrary> library) {
  leaving_.fetch_add(1, std::memory_order_relaxed);
  auto* const farewell = new Farewell;
  farewell->owner = this;
  farewell->library = std::move(library);
  farewell->run = [](smg_task* task) {
    auto* const self = static_cast<Farewell*>(task);
    LoopGroup& loops = self->owner->parts_.loops;
    if (++self->loop < loops.count()) return loops.at(self->loop).post(self);
    const std::unique_ptr<Farewell> last(self);
    PluginReload& owner = *last->owner;
    const std::shared_ptr<PluginLibrary> closing = std::move(last->library);
    owner.background_->submit([&owner, closing]() -> Background::Then {
      const std::uint64_t begun = Loop::clock();
      const bool left = closing->close();
      const double took = static_cast<double>(Loop::clock() - begun) / 1e9;
      return [&owner, closing, left, took] {
        owner.leaving_.fetch_sub(1, std::memory_order_release);
        const std::string name = closing->file().stem().string();
        owner.parts_.families.plugin_reload_steps
            .with({name, "retire", left ? "ok" : "kept_mapped"})
            .add();
        owner.parts_.families.plugin_reload_duration.with({"retire"}).observe(took);
        owner.parts_.instances.announce(
            name, "retired generation " + std::to_string(closing->generation()));
        if (!left && closing->unloadable()) {
          spdlog::warn(
              "generation {} of {} stays in memory though it says that it can be "
              "unloaded: a thread, a thread_local or another library holds it",
              closing->generation(), closing->file().string());
        }
      };
    });
  };
  parts_.loops.at(0).post(farewell);
}

void PluginReload::warn_of_late_ones() {
  for (auto& record : parts_.instances.records()) {
    if (record.superseded == 0 || record.late ||
        control_.now() - record.superseded < kDrainWarning) {
      continue;
    }
    record.late = true;
    parts_.instances.announce(
        record.name, "generation " + std::to_string(record.generation) + " still has users");
    spdlog::warn(
        "generation {} of {} {} still has {} users a minute after it was replaced; it "
        "stays until they end",
        record.generation, kind_name(record.kind), record.name, record.ref.use_count());
  }
}

}  // namespace smg
