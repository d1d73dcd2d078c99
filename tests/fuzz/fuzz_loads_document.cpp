// Any bytes as an engine's load document: a report whose every rank can be read, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "loads_document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static smg::http_loads::LoadsDocument document;
  if (!document.read({reinterpret_cast<const char*>(data), size})) return 0;
  const smg_load_report& report = document.report();
  std::size_t text = report.timestamp.size;
  for (std::uint32_t i = 0; i < report.rank_count; ++i) {
    if (report.ranks[i].struct_size != sizeof(smg_rank_load)) std::abort();
    text += report.ranks[i].disagg_mode.size;
  }
  if (text > size) std::abort();
  return 0;
}
