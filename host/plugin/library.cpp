#include "host/plugin/library.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "host/plugin/canary.hpp"
#include "host/plugin/descriptor_check.hpp"
#include "host/plugin/elf_check.hpp"
#include "host/plugin/elf_unique.hpp"

namespace smg {
namespace {

constexpr const char* kEntry = "smg_plugin_entry";

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;

bool read_file(const std::filesystem::path& file, std::string& content, std::string& error) {
  std::error_code code;
  // Nothing else: a pipe would never come to its end.
  if (std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code)) {
    error = "is no file";
    return false;
  }
  const std::uint64_t size = std::filesystem::file_size(file, code);
  if (!code && size > kMaxSize) {
    error = "has " + std::to_string(size) + " bytes; a library may have " +
            std::to_string(kMaxSize) + " at most";
    return false;
  }
  std::ifstream stream(file, std::ios::binary);
  content.resize(code ? 0 : size);
  stream.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (stream || (stream.eof() && !stream.bad())) {
    content.resize(static_cast<std::size_t>(stream.gcount()));
    return true;
  }
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
  return words + noexec_hint(words, copy);
}

// Libraries that must stay mapped, kept for the life of the process.
void keep_mapped(boost::dll::shared_library handle) {
  static auto* const kept = new std::vector<boost::dll::shared_library>;
  kept->push_back(std::move(handle));
}

}  // namespace

std::string noexec_hint(std::string_view words, const std::filesystem::path& copy) {
  if (words.find("failed to map segment") == std::string_view::npos) return {};
  return "; " + copy.parent_path().string() +
         " may be on a file system mounted noexec: set [plugins] run_dir to another one";
}

std::optional<StagedLibrary> PluginLibrary::stage(const std::filesystem::path& file,
                                                  RunDir& run_dir, std::string& error) {
  const std::string prefix = file.string() + ": ";
  StagedLibrary staged;
  staged.signature = FileSignature::of(file);
  std::string content;
  std::string problem;
  if (!read_file(file, content, problem)) {
    error = prefix + problem;
    return std::nullopt;
  }
  problem = elf_problem(content);
  if (!problem.empty()) {
    error = prefix + problem;
    return std::nullopt;
  }
  staged.file = file;
  staged.hash = content_hash(content);
  loosen_unique_symbols(content);
  staged.copy = run_dir.add(file.stem().string() + "." + staged.hash, content, problem);
  if (staged.copy.empty()) {
    error = prefix + problem;
    return std::nullopt;
  }
  staged.generation = run_dir.generation();
  return staged;
}

std::shared_ptr<PluginLibrary> PluginLibrary::open(const StagedLibrary& staged, RetireHook retire,
                                                   std::string& error) {
  const std::string prefix = staged.file.string() + ": ";
  std::unique_ptr<PluginLibrary> library(new PluginLibrary);
  library->staged_ = staged;
  try {
    namespace dll = boost::dll;
    library->handle_.load(staged.copy.string(),
                          dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    if (library->handle_.has(kEntry)) {
      library->table_ = library->handle_.get<const smg_library*()>(kEntry)();
    } else {
      error = prefix + "does not export " + kEntry + ": it is no smg plugin";
    }
  } catch (const std::exception& exception) {
    error = prefix + "cannot be loaded: " + linker_words(exception.what(), staged.copy);
  }
  if (!error.empty()) {
    std::error_code ignored;
    std::filesystem::remove(staged.copy, ignored);
    return nullptr;
  }
  return {library.release(), [retire = std::move(retire)](PluginLibrary* last) {
            std::unique_ptr<PluginLibrary> owned(last);
            if (retire != nullptr && *retire) (*retire)(std::move(owned));
          }};
}

bool PluginLibrary::close() {
  if (!handle_.is_loaded()) return true;
  if (!unloadable_) {
    keep_mapped(std::move(handle_));
    return false;
  }
  handle_.unload();
  table_ = nullptr;
  // What is still mapped answers to its name.
  if (void* const pinned = dlopen(staged_.copy.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(pinned);
    return false;
  }
  std::error_code ignored;
  std::filesystem::remove(staged_.copy, ignored);
  return true;
}

PluginLibrary::~PluginLibrary() {
  close();
}

std::string try_to_open(const StagedLibrary& staged) {
  const std::string problem = try_in_child([&] {
    void* const handle = dlopen(staged.copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;  // the reason is found again, in this process
    const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(handle, kEntry));
    if (entry == nullptr) return;
    std::string error;
    check_library(entry(), error);
  });
  return problem.empty() ? problem : staged.file.string() + ": " + problem;
}

}  // namespace smg
