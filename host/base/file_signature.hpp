// What tells one state of a file from another without reading it. Follows symbolic links, so one
// that is turned to another file changes it as well.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

namespace smg {

struct FileSignature {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified = 0, changed = 0;  // ns since 1970

  // All zero if there is no such file. Blocks for as long as the file system takes.
  static FileSignature of(const std::filesystem::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    const auto ns = [](const timespec& time) {
      return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    return {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size), ns(info.st_mtim),
            ns(info.st_ctim)};
  }
  explicit operator bool() const { return inode != 0; }
  bool operator==(const FileSignature&) const = default;
};

}  // namespace smg
