// The plugins of this process: found in directories, checked, loaded, exchanged.
//
// Control thread, unless a function says otherwise. Plugins are shared: an instance keeps its
// plugin, and so its library, alive, whatever the registry offers meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
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
  using Plugins = std::vector<std::shared_ptr<const Plugin>>;

  // REQUIRES: `run_dir` outlives the registry and all plugins of it.
  explicit PluginRegistry(RunDir& run_dir) : run_dir_(run_dir) {}

  // Loads every `*.so` of the given directories, in order of the list and then of name; an entry
  // may also be a library itself. A file that was loaded before (also by another name) is passed
  // over. Returns one sentence per problem, each with the file; the good libraries are loaded all
  // the same. A library of which one plugin is bad, or has the kind and name of one that is loaded,
  // is refused as a whole. Before other threads run.
  std::vector<std::string> load_all(std::span<const std::string> paths);

  // The libraries that stand now where load_all() searched, in the same order. [any]
  std::vector<std::filesystem::path> search(std::vector<std::string>& problems) const;
  // Where copies go, for PluginLibrary::stage(). One thread at a time.
  RunDir& run_dir() { return run_dir_; }
  // What becomes of libraries that nobody holds any more; empty: they are closed at once.
  void on_retire(PluginLibrary::Retire retire) { *retire_ = std::move(retire); }
  PluginLibrary::RetireHook retire_hook() const { return retire_; }
  // The plugins of an opened library, checked. Empty, and a sentence in `error` that begins with
  // the file, if any fails. [any]
  static Plugins plugins_of(const std::shared_ptr<PluginLibrary>& library, std::string& error);
  // Why these plugins of `file` cannot take the place of what the file offers now: they have the
  // name of another file's, or lack one that is there. Empty: they can.
  // A plugin of a file that is `gone` may come from another one.
  std::string misfit(const std::filesystem::path& file, const Plugins& plugins,
                     const std::set<std::filesystem::path>& gone = {}) const;
  // From now on the file's plugins are these. REQUIRES: no misfit.
  void install(const std::filesystem::path& file, Plugins plugins);
  // How often that was done.
  std::uint64_t changes() const { return changes_; }

  // nullptr if there is none.
  std::shared_ptr<const Plugin> find(std::uint32_t kind, std::string_view name) const;
  // Sorted.
  std::vector<std::string> names(std::uint32_t kind) const;
  // All, by kind and name.
  Plugins all() const;
  // Their descriptors. Valid as long as the registry offers the same plugins.
  std::vector<const smg_plugin*> descriptors() const;
  // The same as if `plugins` had been installed as the file's.
  std::vector<const smg_plugin*> descriptors_with(const std::filesystem::path& file,
                                                  const Plugins& plugins) const;

 private:
  static std::vector<std::filesystem::path> scan(const std::filesystem::path& path,
                                                 std::string& error);
  // Empty, or what is wrong.
  std::string load(const std::filesystem::path& file);

  RunDir& run_dir_;
  const std::shared_ptr<PluginLibrary::Retire> retire_ = std::make_shared<PluginLibrary::Retire>();
  std::vector<std::string> paths_;             // that load_all() searched
  std::vector<std::filesystem::path> loaded_;  // canonical
  std::uint64_t changes_ = 0;
  std::map<std::pair<std::uint32_t, std::string>, std::shared_ptr<const Plugin>> plugins_;
};

}  // namespace smg
