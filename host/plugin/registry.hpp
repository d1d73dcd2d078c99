// The plugins of this process: found in directories, checked, loaded.
//
// Control thread. Plugins are shared: an instance keeps its plugin, and so its library, alive.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/plugin/plugin.hpp"
#include "host/plugin/run_dir.hpp"

namespace smg {

class PluginRegistry {
 public:
  // REQUIRES: `run_dir` outlives the registry and all plugins of it.
  explicit PluginRegistry(RunDir& run_dir) : run_dir_(run_dir) {}

  // Loads every `*.so` of the given directories, in order of the list and then of name; an entry
  // may also be a library itself. A file that was loaded before (also by another name) is passed
  // over. Returns one sentence per problem, each with the file; the good libraries are loaded all
  // the same. A library of which one plugin is bad, or has the kind and name of one that is loaded,
  // is refused as a whole.
  std::vector<std::string> load_all(std::span<const std::string> paths);

  // nullptr if there is none.
  std::shared_ptr<const Plugin> find(std::uint32_t kind, std::string_view name) const;
  // Sorted.
  std::vector<std::string> names(std::uint32_t kind) const;
  // All, by kind and name. Valid as long as the registry.
  std::vector<const smg_plugin*> descriptors() const;

 private:
  std::vector<std::filesystem::path> scan(const std::filesystem::path& path, std::string& error);
  // Empty, or what is wrong.
  std::string load(const std::filesystem::path& file);

  RunDir& run_dir_;
  std::vector<std::filesystem::path> loaded_;  // canonical
  std::map<std::pair<std::uint32_t, std::string>, std::shared_ptr<const Plugin>> plugins_;
};

}  // namespace smg
