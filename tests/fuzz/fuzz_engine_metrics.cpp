// Any bytes as an engine's /metrics: what is taken can be read again and is the same the second
// time, the worker's label aside.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/admin/engine_metrics.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  smg::EngineMetrics once;
  if (!once.add(text, "w")) {
    if (!once.empty()) std::abort();
    return 0;
  }
  const auto merged = once.text();
  if (!merged) return 0;
  smg::EngineMetrics twice;
  // One label more may be one too many.
  if (!twice.add(*merged, "w")) std::abort();
  return 0;
}
