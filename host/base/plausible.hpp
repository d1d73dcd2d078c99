// Whether what a plugin hands over can be what it says: pointers where there are sizes, and sizes
// that somebody may have meant. It keeps the host from reading gigabytes that are not there.
#pragma once

#include <cstdint>

#include "smg/events.h"
#include "smg/load.h"

namespace smg {

inline constexpr std::uint64_t kLongestText = 1024 * 1024;
inline constexpr std::uint64_t kMostItems = 16 * 1024 * 1024;
inline constexpr std::uint32_t kMostRanks = 4096;
inline constexpr std::uint64_t kLargestStride = 64 * 1024;
inline constexpr std::uint32_t kMostHeaders = 10'000;

inline bool plausible(const smg_view& view, std::uint64_t longest = kLongestText) {
  return view.size <= longest && (view.size == 0 || view.data != nullptr);
}

// All of them together are as long as one text may be.
inline bool plausible(const smg_header* headers, std::uint32_t count) {
  if (count == 0) return true;
  if (headers == nullptr || count > kMostHeaders) return false;
  std::uint64_t size = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!plausible(headers[i].name) || !plausible(headers[i].value)) return false;
    size += headers[i].name.size + headers[i].value.size;
  }
  return size <= kLongestText;
}

inline bool plausible(const smg_load_report& report) {
  if (report.struct_size < sizeof report || !plausible(report.timestamp)) return false;
  if (report.rank_count == 0) return true;
  return report.ranks != nullptr && report.rank_count <= kMostRanks &&
         report.rank_stride >= 2 * sizeof(std::uint32_t) && report.rank_stride <= kLargestStride;
}

}  // namespace smg
