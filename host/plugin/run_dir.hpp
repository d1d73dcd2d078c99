// The private directory for copies of plugin libraries: made fresh with mode 0700, removed at the
// end. One that a killed process left behind is removed by the next to start in the same place.
//
// Copies keep their names while their code is mapped, so that debuggers and profilers find the
// symbols. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace smg {

class RunDir {
 public:
  // A new directory below `parent`, which is made if it is missing. Empty: below $XDG_RUNTIME_DIR,
  // or /tmp. nullptr, and a sentence in `error`, on failure.
  static std::unique_ptr<RunDir> make(const std::filesystem::path& parent, std::string& error);
  ~RunDir();
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes `content` to `<stem>.<generation>.so`; the generation rises with every call. An empty
  // path, and a sentence in `error`, on failure; nothing is left of the file then.
  std::filesystem::path add(std::string_view stem, std::string_view content, std::string& error);
  std::uint64_t generation() const { return generation_; }

 private:
  RunDir(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;  // on the directory, as long as the process lives
  std::uint64_t generation_ = 0;
};

// Tells versions of a file apart in listings and file names; it protects nothing.
std::string content_hash(std::string_view content);

}  // namespace smg
