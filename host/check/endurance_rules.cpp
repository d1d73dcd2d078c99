#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "host/check/exercise.hpp"
#include "host/check/residue.hpp"
#include "host/check/rules.hpp"
#include "host/plugin/run_dir.hpp"

namespace smg::check {
namespace {

constexpr int kLives = 1000;
constexpr int kWarmUp = 100;
constexpr int kSelections = 20;
constexpr int kParts = 4;

// Lives of instances with a look at what is held: before the first counted one, and after each
// quarter of them. Growth that goes on through every quarter is a leak.
struct Lives {
  std::array<Residue, kParts + 1> seen;
  Trouble trouble;

  template <class Measure>
  bool grows(Measure measure, std::uint64_t by_part) const {
    for (int i = 0; i < kParts; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (measure(seen[at + 1]) < measure(seen[at]) + by_part) return false;
    }
    return true;
  }
};

Lives live(Subject& subject) {
  Lives lives;
  for (int i = 0; i < kWarmUp + kLives && !lives.trouble; ++i) {
    if (i >= kWarmUp && (i - kWarmUp) % (kLives / kParts) == 0) {
      lives.seen[static_cast<std::size_t>((i - kWarmUp) / (kLives / kParts))] = Residue::now();
    }
    lives.trouble = exercise(subject.rig, subject.plugin, subject.options, kSelections);
  }
  lives.seen[kParts] = Residue::now();
  return lives;
}

Finding trouble_of(const Lives& lives) {
  return broken(lives.trouble.rule + ": " + lives.trouble.problem,
                "one life alone is the rule `life`; what is left of the ones before?");
}

Finding create_destroy(Subject& subject) {
  const Lives lives = live(subject);
  if (lives.trouble) return trouble_of(lives);
  return passed(std::to_string(kLives) + " lives, the last like the first");
}

Finding leak(Subject& subject) {
  const Lives lives = live(subject);
  if (lives.trouble) return trouble_of(lives);
  constexpr std::uint64_t kLeastHeap = 16;   // bytes a life: what malloc cannot go below
  constexpr std::uint64_t kLeastMap = 2048;  // half a page
  const auto& first = lives.seen.front();
  const auto& last = lives.seen.back();
  const auto grown = [](std::uint64_t before, std::uint64_t after) {
    return after > before ? (after - before) / kLives : 0;
  };
  const std::string seen = std::to_string(grown(first.heap, last.heap)) + " bytes of heap and " +
                           std::to_string(grown(first.mapped, last.mapped)) +
                           " of address space a life, over " + std::to_string(kLives);
  if (lives.grows([](const Residue& r) { return r.heap; }, kLeastHeap * kLives / kParts) ||
      lives.grows([](const Residue& r) { return r.mapped; }, kLeastMap * kLives / kParts)) {
    return broken("leaks " + seen,
                  "destroy() frees all that create() and later calls made; "
                  "valgrind or -fsanitize=address name the place");
  }
  return passed(seen);
}

Finding descriptors(Subject& subject) {
  const Lives lives = live(subject);
  if (lives.trouble) return trouble_of(lives);
  const std::size_t before = lives.seen.front().descriptors;
  const std::size_t after = lives.seen.back().descriptors;
  const std::string seen = std::to_string(before) + " open before, " + std::to_string(after) +
                           " after " + std::to_string(kLives) + " lives";
  if (after > before) return broken(seen, "close what was opened, in close() and destroy()");
  return passed(seen);
}

Finding threads(Subject& subject) {
  const Lives lives = live(subject);
  if (lives.trouble) return trouble_of(lives);
  const std::size_t before = lives.seen.front().threads;
  const std::size_t after = lives.seen.back().threads;
  const std::string seen = std::to_string(before) + " before, " + std::to_string(after) +
                           " after " + std::to_string(kLives) + " lives";
  if (after > before) return broken(seen, "join your threads in destroy(); never detach one");
  return passed(seen);
}

// A fresh copy for each round, as the gateway makes one at a reload.
Finding reload(Subject& subject, int rounds, bool look_at_maps) {
  std::string problem;
  const std::string content = read_file(subject.command.file, problem);
  const auto run_dir = RunDir::make({}, problem);
  if (run_dir == nullptr) return skipped(problem);
  const bool unloadable = (subject.plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) != 0;
  std::size_t left = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto copy = run_dir->add("copy", content, problem);
    if (copy.empty()) return skipped(problem);
    Trouble trouble;
    {
      const auto library = LibraryFile::open(copy, trouble.rule, trouble.problem);
      if (library != nullptr) {
        const auto plugin = library->find(subject.plugin->kind(), subject.plugin->name());
        trouble = exercise(subject.rig, plugin, subject.options, kSelections);
      }
    }
    if (trouble) {
      return broken("round " + std::to_string(i + 1) + ": " + trouble.rule + ": " + trouble.problem,
                    "a second copy of the library must find nothing of the first");
    }
    left = mappings_of(copy.string());
    std::filesystem::remove(copy);
    if (look_at_maps && left > 0) {
      return broken("a copy was still mapped after its last instance and dlclose",
                    "what keeps it: a thread, a GNU-unique symbol, a thread_local with a "
                    "destructor, or a library linked with -z nodelete");
    }
  }
  if (look_at_maps)
    return passed("nothing of " + std::to_string(rounds) + " copies was left mapped");
  return passed(std::to_string(rounds) + " copies opened, used and " +
                (unloadable ? "closed" : "kept, as the library asks for"));
}

Finding reload_1000(Subject& subject) {
  return reload(subject, 1000, false);
}

Finding maps(Subject& subject) {
  if ((subject.plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) == 0) {
    return skipped("the plugin does not say that it can be unloaded");
  }
  return reload(subject, 20, true);
}

constexpr Rule kRules[] = {{"maps", maps, 60, false},
                           {"create-destroy-1000", create_destroy, 300, true},
                           {"reload-1000", reload_1000, 600, true},
                           {"leak", leak, 300, true},
                           {"descriptors", descriptors, 300, true},
                           {"threads", threads, 300, true}};

}  // namespace

std::span<const Rule> endurance_rules() {
  return kRules;
}

}  // namespace smg::check
