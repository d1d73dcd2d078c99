// A plugin library, opened where it lies.
//
// Code of the library runs, so this is for processes that may come to harm. Unlike the gateway's
// own way of opening, nothing is copied or tried before: whoever opens is the trial.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/plugin/plugin.hpp"

namespace smg::check {

class LibraryFile {
 public:
  // nullptr on failure: then `rule` is what was broken, and `problem` a sentence.
  static std::unique_ptr<LibraryFile> open(const std::filesystem::path& file, std::string& rule,
                                           std::string& problem);
  // Closes it, if it may be unloaded. REQUIRES: no instance is left.
  ~LibraryFile();
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  // In the order of the library's table. Not valid after the library is closed.
  const std::vector<std::shared_ptr<Plugin>>& plugins() const { return plugins_; }
  // nullptr: it has none of that kind and name.
  std::shared_ptr<const Plugin> find(std::uint32_t kind, std::string_view name) const;
  // Every plugin of it says so.
  bool unloadable() const;

 private:
  explicit LibraryFile(void* handle) : handle_(handle) {}

  void* handle_;
  std::vector<std::shared_ptr<Plugin>> plugins_;
};

// Empty, and a sentence in `problem`, if the file cannot be read.
std::string read_file(const std::filesystem::path& file, std::string& problem);

}  // namespace smg::check
