#include "host/plugin_reload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "host/plugin_reload_job.hpp"

namespace smg {

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

void PluginReload::reconfigure(Reconfigure other) {
  if (stopped_) return;
  auto job = std::make_shared<Job>();
  job->other = std::move(other);
  jobs_.push_back(std::move(job));
  if (jobs_.size() == 1) next();
}

void PluginReload::next() {
  if (jobs_.empty()) return;
  const std::shared_ptr<Job> job = jobs_.front();
  if (job->other) {
    if (create_other(*job)) return hand_over(job);
    return refuse(job, "create", job->outcome.problem);
  }
  job->begun = Loop::clock();
  std::string present;
  for (const auto& plugin : parts_.plugins.all()) {
    if (plugin->library->file() == job->order.file) present = plugin->library->hash();
  }
  const auto tables = std::make_shared<const OptionTables>(parts_.instances.options().configured);
  background_->submit([this, job, present, tables]() -> Background::Then {
    try {
      return prepare(job, present, *tables);
    } catch (const std::exception& failure) {  // no memory, most likely
      job->outcome.problem = job->order.file.string() + ": cannot be tried: " + failure.what();
      job->failed_step = "copy";
      return [this, job] { prepared(job); };
    }
  });
}

Background::Then PluginReload::prepare(const std::shared_ptr<Job>& job, const std::string& present,
                                       const OptionTables& tables) {
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
  job->copied = Loop::clock();
  if (job->order.only_if_changed && job->staged->hash == present) {
    job->outcome.unchanged = true;
    return fail("");
  }
  if (error = smoke_test(*job->staged, parts_.checker, tables); !error.empty()) {
    return fail("canary");
  }
  job->tried = Loop::clock();
  const auto library = PluginLibrary::open(*job->staged, parts_.plugins.retire_hook(), error);
  if (library == nullptr) return fail("create");
  job->plugins = PluginRegistry::plugins_of(library, error);
  if (!error.empty()) job->failed_step = "create";
  job->outcome.problem = error;
  return [this, job] { prepared(job); };
}

void PluginReload::prepared(const std::shared_ptr<Job>& job) {
  if (stopped_) return;
  if (job->staged) {
    auto& sighting = sightings_[job->order.file];
    sighting.seen = sighting.dealt_with = job->staged->signature;
  }
  if (job->outcome.unchanged) return end(job);
  if (job->failed_step == "copy") return refuse(job, "copy", job->outcome.problem);
  passed(*job, "copy", job->copied);
  if (job->failed_step == "canary") return refuse(job, "canary", job->outcome.problem);
  passed(*job, "canary", job->tried);
  if (!job->failed_step.empty()) return refuse(job, "create", job->outcome.problem);
  if (!create(*job)) return refuse(job, "create", job->outcome.problem);
  hand_over(job);
}

void PluginReload::refuse(const std::shared_ptr<Job>& job, std::string_view step,
                          std::string problem) {
  parts_.registry.withdraw();
  job->outcome.problem = problem;
  if (job->other) return end(job);  // whoever asked for it says why not
  parts_.families.plugin_reload_steps.with({job->library, step, "failed"}).add();
  parts_.instances.announce(job->library, "refused: " + problem);
  spdlog::error("{}; what ran before goes on", problem);
  end(job);
}

void PluginReload::passed(Job& job, std::string_view step, std::uint64_t at) {
  parts_.families.plugin_reload_steps.with({job.library, step, "ok"}).add();
  parts_.families.plugin_reload_duration.with({step}).observe(static_cast<double>(at - job.begun) /
                                                              1e9);
  parts_.instances.announce(job.library, std::string("reload: passed ") + std::string(step));
  job.begun = at;
}

void PluginReload::end(const std::shared_ptr<Job>& job) {
  const std::filesystem::path& file = job->order.file;
  if (job->other) {
    // A configuration is no file of ours.
  } else if (job->outcome.unchanged || job->outcome.problem.empty()) {
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
  job->configured.clear();
  job->dismissed.clear();
  if (job->other) job->other->done(job->outcome.problem);
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
      if (stopped_) return;
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
