// What a process holds, so that what a plugin left behind can be told: memory, descriptors,
// threads, mappings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smg::check {

struct Residue {
  std::uint64_t heap = 0;    // bytes in use
  std::uint64_t mapped = 0;  // bytes of address space
  std::size_t descriptors = 0;
  std::size_t threads = 0;

  static Residue now();
};

// How many lines of /proc/self/maps name a file whose path contains `part`.
std::size_t mappings_of(const std::string& part);

}  // namespace smg::check
