#include "host/plugin/registry.hpp"

#include <algorithm>
#include <system_error>

#include "host/plugin/descriptor_check.hpp"

namespace smg {

std::vector<std::string> PluginRegistry::load_all(std::span<const std::string> paths) {
  paths_.insert(paths_.end(), paths.begin(), paths.end());
  std::vector<std::string> problems;
  for (const auto& path : paths) {
    std::string error;
    const auto files = scan(path, error);
    if (!error.empty()) problems.push_back(error);
    for (const auto& file : files) {
      error = load(file);
      if (!error.empty()) problems.push_back(error);
    }
  }
  return problems;
}

std::vector<std::filesystem::path> PluginRegistry::search(
    std::vector<std::string>& problems) const {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths_) {
    std::string error;
    for (auto& file : scan(path, error)) files.push_back(std::move(file));
    if (!error.empty()) problems.push_back(error);
  }
  return files;
}

std::shared_ptr<const Plugin> PluginRegistry::find(std::uint32_t kind,
                                                   std::string_view name) const {
  const auto found = plugins_.find({kind, std::string(name)});
  return found == plugins_.end() ? nullptr : found->second;
}

std::vector<std::string> PluginRegistry::names(std::uint32_t kind) const {
  std::vector<std::string> result;
  for (const auto& [key, plugin] : plugins_) {
    if (key.first == kind) result.push_back(key.second);
  }
  return result;
}

PluginRegistry::Plugins PluginRegistry::all() const {
  Plugins result;
  for (const auto& [key, plugin] : plugins_) result.push_back(plugin);
  return result;
}

std::vector<const smg_plugin*> PluginRegistry::descriptors() const {
  std::vector<const smg_plugin*> result;
  for (const auto& [key, plugin] : plugins_) result.push_back(&plugin->descriptor);
  return result;
}

std::vector<const smg_plugin*> PluginRegistry::descriptors_with(const std::filesystem::path& file,
                                                                const Plugins& plugins) const {
  std::vector<const smg_plugin*> result;
  for (const auto& [key, plugin] : plugins_) {
    if (plugin->library->file() != file) result.push_back(&plugin->descriptor);
  }
  for (const auto& plugin : plugins) result.push_back(&plugin->descriptor);
  return result;
}

std::string PluginRegistry::misfit(const std::filesystem::path& file, const Plugins& plugins,
                                   const std::set<std::filesystem::path>& gone) const {
  for (const auto& plugin : plugins) {
    const auto present = find(plugin->kind(), plugin->name());
    if (present != nullptr && present->library->file() != file &&
        !gone.contains(present->library->file())) {
      return file.string() + ": " + std::string(kind_name(plugin->kind())) + " '" +
             std::string(plugin->name()) + "' is in " + present->library->file().string() +
             " as well: remove one of the two files";
    }
  }
  for (const auto& [key, present] : plugins_) {
    if (present->library->file() != file) continue;
    const bool stays = std::any_of(plugins.begin(), plugins.end(), [&](const auto& plugin) {
      return plugin->kind() == key.first && plugin->name() == key.second;
    });
    if (!stays) {
      return file.string() + ": no longer offers the " + std::string(kind_name(key.first)) + " '" +
             key.second + "', which the running gateway has: keep it, or restart without it";
    }
  }
  return {};
}

void PluginRegistry::install(const std::filesystem::path& file, Plugins plugins) {
  std::erase_if(plugins_, [&](const auto& entry) { return entry.second->library->file() == file; });
  for (auto& plugin : plugins) {
    auto key = std::pair(plugin->kind(), std::string(plugin->name()));
    plugins_.insert_or_assign(std::move(key), std::move(plugin));
  }
  ++changes_;
}

PluginRegistry::Plugins PluginRegistry::plugins_of(const std::shared_ptr<PluginLibrary>& library,
                                                   std::string& error) {
  auto plugins = check_library(library->table(), error);
  if (!error.empty()) {
    error = library->file().string() + ": " + error;
    return {};
  }
  const bool unloadable = std::all_of(plugins.begin(), plugins.end(), [](const auto& plugin) {
    return (plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) != 0;
  });
  if (unloadable) library->allow_unload();
  for (const auto& plugin : plugins) plugin->library = library;
  return {plugins.begin(), plugins.end()};
}

std::vector<std::filesystem::path> PluginRegistry::scan(const std::filesystem::path& path,
                                                        std::string& error) {
  std::error_code code;
  if (std::filesystem::is_regular_file(path, code)) return {path};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->path().extension() == ".so" && entry->is_regular_file(ignored)) {
      files.push_back(entry->path());
    }
  }
  if (code) {
    error = "cannot search the plugin directory " + path.string() + ": " + code.message() +
            "; correct [plugins] paths or make the directory";
    return {};
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string PluginRegistry::load(const std::filesystem::path& file) {
  std::error_code code;
  const auto canonical = std::filesystem::canonical(file, code);
  if (code) return file.string() + ": cannot be read: " + code.message();
  if (std::find(loaded_.begin(), loaded_.end(), canonical) != loaded_.end()) return {};
  loaded_.push_back(canonical);

  static constexpr const char* kWhatToDo = "; mend or remove it, or take it out of [plugins] paths";
  std::string error;
  const auto staged = PluginLibrary::stage(file, run_dir_, error);
  if (!staged) return error + kWhatToDo;
  if (error = try_to_open(*staged); !error.empty()) return error + kWhatToDo;
  const auto library = PluginLibrary::open(*staged, retire_, error);
  if (library == nullptr) return error + kWhatToDo;
  auto plugins = plugins_of(library, error);
  if (!error.empty()) return error + kWhatToDo;
  if (error = misfit(file, plugins); !error.empty()) return error;
  install(file, std::move(plugins));
  return {};
}

}  // namespace smg
