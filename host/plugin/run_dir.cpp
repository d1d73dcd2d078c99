#include "host/plugin/run_dir.hpp"

#include <fcntl.h>
#include <stdlib.h>
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

// FNV-1a: the hash tells versions of a file apart in listings, it protects nothing.
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

}  // namespace

std::unique_ptr<RunDir> RunDir::make(const std::filesystem::path& parent, std::string& error) {
  std::filesystem::path base = parent;
  if (base.empty()) {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::error_code ignored;
    base = runtime != nullptr && std::filesystem::is_directory(runtime, ignored) ? runtime : "/tmp";
  }
  std::error_code code;
  std::filesystem::create_directories(base, code);
  std::string name = (base / "smg-plugins-XXXXXX").string();
  if (code || ::mkdtemp(name.data()) == nullptr) {  // mode 0700
    error = "cannot make a directory for plugin copies in " + base.string() + ": " +
            error_text(code ? code.value() : errno) +
            "; set [plugins] run_dir to one that can be written";
    return nullptr;
  }
  return std::unique_ptr<RunDir>(new RunDir(std::filesystem::absolute(name)));
}

RunDir::~RunDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path RunDir::add(std::string_view stem, std::string_view content,
                                  std::string& error) {
  std::filesystem::path target = path_ / (std::string(stem) + "." + content_hash(content) + "." +
                                          std::to_string(++generation_) + ".so");
  const int fd = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  const bool written = fd >= 0 && write_all(fd, content);
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!written) {
    error = "cannot write its copy " + target.string() + ": " + error_text(code);
    return {};
  }
  return target;
}

}  // namespace smg
