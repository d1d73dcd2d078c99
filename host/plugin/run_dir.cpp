#include "host/plugin/run_dir.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

namespace smg {
namespace {

std::string error_text(int code) {
  return std::generic_category().message(code);
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

constexpr std::string_view kPrefix = "smg-plugins-";

// An open directory, locked, or -1. The lock goes with the process, however it ends.
int lock_directory(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

void remove_abandoned(const std::filesystem::path& base) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry(base, code), end; !code && entry != end;
       entry.increment(code)) {
    struct stat info {};
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    if (::lstat(entry->path().c_str(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    const int fd = lock_directory(entry->path());
    if (fd < 0) continue;
    std::error_code ignored;
    std::filesystem::remove_all(entry->path(), ignored);
    ::close(fd);
  }
}

}  // namespace

// FNV-1a.
std::string content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : content) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::array<char, 17> digits{};
  std::to_chars(digits.data(), digits.data() + 16, hash, 16);
  const std::string text(digits.data());
  return std::string(16 - text.size(), '0') + text;
}

std::unique_ptr<RunDir> RunDir::make(const std::filesystem::path& parent, std::string& error) {
  std::filesystem::path base = parent;
  if (base.empty()) {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::error_code ignored;
    base = runtime != nullptr && std::filesystem::is_directory(runtime, ignored) ? runtime : "/tmp";
  }
  std::error_code code;
  std::filesystem::create_directories(base, code);
  // Under a name that nobody takes for abandoned until it is locked.
  std::string name = (base / "smg-making-XXXXXX").string();
  if (code || ::mkdtemp(name.data()) == nullptr) {  // mode 0700
    error = "cannot make a directory for plugin copies in " + base.string() + ": " +
            error_text(code ? code.value() : errno) +
            "; set [plugins] run_dir to one that can be written";
    return nullptr;
  }
  remove_abandoned(base);
  const int lock = lock_directory(name);
  const std::filesystem::path path =
      std::filesystem::absolute(base / (std::string(kPrefix) + name.substr(name.size() - 6)));
  std::filesystem::rename(name, path, code);
  return std::unique_ptr<RunDir>(new RunDir(code ? std::filesystem::absolute(name) : path, lock));
}

RunDir::~RunDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::filesystem::path RunDir::add(std::string_view stem, std::string_view content,
                                  std::string& error) {
  std::filesystem::path target =
      path_ / (std::string(stem) + "." + std::to_string(++generation_) + ".so");
  // Somebody may have cleaned up below us.
  ::mkdir(path_.c_str(), 0700);
  const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  const bool written = fd >= 0 && write_all(fd, content);
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!written) {
    if (fd >= 0) ::unlink(target.c_str());
    error = "cannot write its copy " + target.string() + ": " + error_text(code) +
            "; make room there, or start with [plugins] run_dir elsewhere";
    return {};
  }
  return target;
}

}  // namespace smg
