#include "host/check/residue.hpp"

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Its header is not among those that Debian's gcc brings.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace smg::check {
namespace {

std::size_t entries(const char* directory) {
  std::size_t count = 0;
  std::error_code code;
  for (std::filesystem::directory_iterator at(directory, code), end; !code && at != end;
       at.increment(code)) {
    ++count;
  }
  return count;
}

std::uint64_t heap_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

}  // namespace

Residue Residue::now() {
  Residue residue;
  residue.heap = heap_in_use();
  std::uint64_t pages = 0;
  if (std::ifstream("/proc/self/statm") >> pages) {
    residue.mapped = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  residue.descriptors = entries("/proc/self/fd");
  residue.threads = entries("/proc/self/task");
  return residue;
}

std::size_t mappings_of(const std::string& part) {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(part) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace smg::check
