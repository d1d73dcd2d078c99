// What a target checks beyond not crashing.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace smg::test {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace smg::test
