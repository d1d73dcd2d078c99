// A shared library that was opened from a private copy.
//
// The copy lets the original be replaced while this one runs, and makes the dynamic linker load a
// changed file anew. The code stays mapped until the process ends, unless allow_unload() was
// called: then it is closed with the last reference.
#pragma once

#include <boost/dll/shared_library.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/file_signature.hpp"
#include "host/plugin/run_dir.hpp"
#include "smg/plugin.h"

namespace smg {

// The private copy of a library's file: whole, for this machine, not opened yet.
struct StagedLibrary {
  std::filesystem::path file;  // the original
  FileSignature signature;     // ... before it was read
  std::filesystem::path copy;
  std::string hash;  // of the original's content
  std::uint64_t generation = 0;
};

class PluginLibrary {
 public:
  // Told when nobody holds a library any more, on the thread of its last holder; may destroy it
  // elsewhere.
  using Retire = std::function<void(std::unique_ptr<PluginLibrary>)>;
  // Looked up at that time; empty: the library is closed where it is.
  using RetireHook = std::shared_ptr<const Retire>;

  // Reads and checks `file` and copies it to `run_dir`. Nothing, and a sentence in `error` that
  // begins with the file, on failure. One thread at a time for one `run_dir`.
  static std::optional<StagedLibrary> stage(const std::filesystem::path& file, RunDir& run_dir,
                                            std::string& error);
  // Opens the copy and asks it for its table. Code of the library runs, its constructors and
  // smg_plugin_entry: in a child process first, so that one that crashes is refused like any other.
  // On failure the copy is removed.
  static std::shared_ptr<PluginLibrary> open(const StagedLibrary& staged, RetireHook retire,
                                             std::string& error);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const StagedLibrary& staged() const { return staged_; }
  const std::filesystem::path& file() const { return staged_.file; }  // the original
  const std::filesystem::path& copy() const { return staged_.copy; }
  const std::string& hash() const { return staged_.hash; }
  std::uint64_t generation() const { return staged_.generation; }
  const FileSignature& signature() const { return staged_.signature; }
  const smg_library* table() const { return table_; }  // unchecked, may be nullptr
  void allow_unload() { unloadable_ = true; }
  bool unloadable() const { return unloadable_; }
  // Closes it for good and looks whether it left the process. False: something pins it, or it is
  // not to be unloaded; then it stays mapped, and so does the copy's file for debuggers.
  bool close();

 private:
  PluginLibrary() = default;

  StagedLibrary staged_;
  boost::dll::shared_library handle_;
  const smg_library* table_ = nullptr;
  bool unloadable_ = false;
};

// What to do about the dynamic linker's words, where that is known; begins with a semicolon.
std::string noexec_hint(std::string_view words, const std::filesystem::path& copy);

// Tries in a forked child what opening and checking a staged library does. Empty if that comes to
// its end, whatever it finds; else why the library is refused. Before other threads run.
std::string try_to_open(const StagedLibrary& staged);

}  // namespace smg
