#include "host/plugin/library.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "host/plugin/canary.hpp"
#include "host/plugin/descriptor_check.hpp"
#include "host/plugin/elf_check.hpp"

namespace smg {
namespace {

constexpr const char* kEntry = "smg_plugin_entry";

bool read_file(const std::filesystem::path& file, std::string& content, std::string& error) {
  std::ifstream stream(file, std::ios::binary);
  if (stream) content.assign(std::istreambuf_iterator<char>(stream), {});
  if (stream && !stream.bad()) return true;
  error = "cannot be read: " + std::generic_category().message(errno);
  return false;
}

// The dynamic linker's own words, out of what Boost.DLL and the name of the copy put around them.
std::string linker_words(std::string words, const std::filesystem::path& copy) {
  static const std::string kBefore = "dlerror system message: ";
  if (const auto begin = words.find(kBefore); begin != std::string::npos) {
    words = words.substr(begin + kBefore.size());
    if (const auto end = words.rfind(')'); end != std::string::npos) words.resize(end);
  }
  const std::string prefix = copy.string() + ": ";
  for (auto at = words.find(prefix); at != std::string::npos; at = words.find(prefix)) {
    words.erase(at, prefix.size());
  }
  if (words.find("failed to map segment") != std::string::npos) {
    words += "; " + copy.parent_path().string() +
             " may be on a file system mounted noexec: set [plugins] run_dir to another one";
  }
  return words;
}

// All that opening and checking does with a library, and nothing with the result.
void look_at(const std::filesystem::path& copy) {
  void* const handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;  // the reason is found again, in this process
  const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(handle, kEntry));
  if (entry == nullptr) return;
  std::string error;
  check_library(entry(), error);
}

// Libraries that must stay mapped, kept for the life of the process.
void keep_mapped(boost::dll::shared_library handle) {
  static auto* const kept = new std::vector<boost::dll::shared_library>;
  kept->push_back(std::move(handle));
}

}  // namespace

std::shared_ptr<PluginLibrary> PluginLibrary::open(const std::filesystem::path& file,
                                                   RunDir& run_dir, std::string& error) {
  const std::string prefix = file.string() + ": ";
  std::string content;
  std::string problem;
  if (!read_file(file, content, problem)) {
    error = prefix + problem;
    return nullptr;
  }
  problem = elf_problem(content);
  if (!problem.empty()) {
    error = prefix + problem;
    return nullptr;
  }

  std::shared_ptr<PluginLibrary> library(new PluginLibrary);
  library->file_ = file;
  library->copy_ = run_dir.add(file.stem().string(), content, problem);
  if (library->copy_.empty()) {
    error = prefix + problem;
    return nullptr;
  }
  problem = try_in_child([&] { look_at(library->copy_); });
  if (!problem.empty()) {
    error = prefix + problem;
    return nullptr;
  }
  try {
    namespace dll = boost::dll;
    library->handle_.load(library->copy_.string(),
                          dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    if (!library->handle_.has(kEntry)) {
      error = prefix + "does not export " + kEntry + ": it is no smg plugin";
      return nullptr;
    }
    library->table_ = library->handle_.get<const smg_library*()>(kEntry)();
  } catch (const std::exception& exception) {
    error = prefix + "cannot be loaded: " + linker_words(exception.what(), library->copy_);
    return nullptr;
  }
  return library;
}

PluginLibrary::~PluginLibrary() {
  if (handle_.is_loaded() && !unloadable_) keep_mapped(std::move(handle_));
}

}  // namespace smg
