// A shared library that was opened from a private copy.
//
// The copy lets the original be replaced while this one runs, and makes the dynamic linker load a
// changed file anew. The code stays mapped until the process ends, unless allow_unload() was
// called: then it is closed with the last reference. Control thread.
#pragma once

#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "host/plugin/run_dir.hpp"
#include "smg/plugin.h"

namespace smg {

class PluginLibrary {
 public:
  // Reads, checks (an ELF library for this machine, whole), copies to `run_dir` and opens `file`,
  // and asks it for its table. nullptr, and a sentence in `error` that begins with the file, on
  // failure. Code of the library runs, its constructors and smg_plugin_entry: in a child process
  // first, so that one that crashes is refused like any other.
  static std::shared_ptr<PluginLibrary> open(const std::filesystem::path& file, RunDir& run_dir,
                                             std::string& error);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::filesystem::path& file() const { return file_; }  // the original
  const std::filesystem::path& copy() const { return copy_; }
  const smg_library* table() const { return table_; }  // unchecked, may be nullptr
  void allow_unload() { unloadable_ = true; }

 private:
  PluginLibrary() = default;

  std::filesystem::path file_;
  std::filesystem::path copy_;
  boost::dll::shared_library handle_;
  const smg_library* table_ = nullptr;
  bool unloadable_ = false;
};

}  // namespace smg
