#include "host/check/library_file.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "host/plugin/descriptor_check.hpp"
#include "host/plugin/elf_check.hpp"

namespace smg::check {
namespace {

constexpr const char* kEntry = "smg_plugin_entry";

// dlerror() puts the file in front of what it says.
std::string linker_words(const std::filesystem::path& file) {
  const char* const words = dlerror();
  std::string text = words == nullptr ? "the linker does not say why" : words;
  if (const std::string prefix = file.string() + ": "; text.starts_with(prefix)) {
    text.erase(0, prefix.size());
  }
  return text;
}

}  // namespace

std::string read_file(const std::filesystem::path& file, std::string& problem) {
  std::string content;
  std::error_code ignored;
  std::ifstream stream;
  if (std::filesystem::is_directory(file, ignored)) {
    errno = EISDIR;
  } else {
    stream.open(file, std::ios::binary);
    if (stream) content.assign(std::istreambuf_iterator<char>(stream), {});
    if (stream && !stream.bad()) return content;
  }
  problem = "cannot be read: " + std::generic_category().message(errno);
  return {};
}

std::unique_ptr<LibraryFile> LibraryFile::open(const std::filesystem::path& file, std::string& rule,
                                               std::string& problem) {
  rule = "elf";
  const std::string content = read_file(file, problem);
  if (problem.empty()) problem = elf_problem(content);
  if (!problem.empty()) return nullptr;
  rule = "load";
  // A name without a slash would be searched for in the system's directories.
  const auto path = std::filesystem::absolute(file);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    problem = "cannot be loaded: " + linker_words(path);
    return nullptr;
  }
  std::unique_ptr<LibraryFile> library(new LibraryFile(handle));
  const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(handle, kEntry));
  if (entry == nullptr) {
    rule = "exports";
    problem = std::string("does not export ") + kEntry + ": it is no smg plugin";
    return nullptr;
  }
  rule = "descriptor";
  library->plugins_ = check_library(entry(), problem);
  if (!problem.empty()) return nullptr;
  rule.clear();
  return library;
}

LibraryFile::~LibraryFile() {
  const bool close = unloadable();
  plugins_.clear();
  if (close) dlclose(handle_);
}

std::shared_ptr<const Plugin> LibraryFile::find(std::uint32_t kind, std::string_view name) const {
  for (const auto& plugin : plugins_) {
    if (plugin->kind() == kind && plugin->name() == name) return plugin;
  }
  return nullptr;
}

bool LibraryFile::unloadable() const {
  return std::all_of(plugins_.begin(), plugins_.end(), [](const auto& plugin) {
    return (plugin->descriptor.flags & SMG_PLUGIN_UNLOADABLE) != 0;
  });
}

}  // namespace smg::check
