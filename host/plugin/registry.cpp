#include "host/plugin/registry.hpp"

#include <algorithm>
#include <system_error>

#include "host/plugin/descriptor_check.hpp"

namespace smg {

std::vector<std::string> PluginRegistry::load_all(std::span<const std::string> paths) {
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

std::vector<const smg_plugin*> PluginRegistry::descriptors() const {
  std::vector<const smg_plugin*> result;
  for (const auto& [key, plugin] : plugins_) result.push_back(&plugin->descriptor);
  return result;
}

std::vector<std::filesystem::path> PluginRegistry::scan(const std::filesystem::path& path,
                                                        std::string& error) {
  std::error_code code;
  if (std::filesystem::is_regular_file(path, code)) return {path};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (entry->path().extension() == ".so" && !entry->is_directory(ignored)) {
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

  std::string error;
  const auto library = PluginLibrary::open(file, run_dir_, error);
  static constexpr const char* kWhatToDo = "; mend or remove it, or take it out of [plugins] paths";
  if (library == nullptr) return error + kWhatToDo;
  const auto plugins = check_library(library->table(), error);
  if (!error.empty()) return file.string() + ": " + error + kWhatToDo;

  bool unloadable = true;
  for (const auto& plugin : plugins) {
    if (const auto present = find(plugin->kind(), plugin->name()); present != nullptr) {
      return file.string() + ": " + std::string(kind_name(plugin->kind())) + " '" +
             std::string(plugin->name()) + "' is in " + present->library->file().string() +
             " as well: remove one of the two files";
    }
    unloadable = unloadable && (plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) != 0;
  }
  if (unloadable) library->allow_unload();
  for (const auto& plugin : plugins) {
    plugin->library = library;
    plugins_.emplace(std::pair(plugin->kind(), std::string(plugin->name())), plugin);
  }
  return {};
}

}  // namespace smg
