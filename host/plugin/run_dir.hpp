// The private directory for copies of plugin libraries: made fresh with mode 0700, removed at the
// end.
//
// Copies keep their names while the process lives, so that debuggers and profilers find the
// symbols. Control thread.
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

  // Writes `content` to `<stem>.<hash of the content>.<generation>.so`; the generation rises with
  // every call. An empty path, and a sentence in `error`, on failure.
  std::filesystem::path add(std::string_view stem, std::string_view content, std::string& error);

 private:
  explicit RunDir(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::uint64_t generation_ = 0;
};

}  // namespace smg
