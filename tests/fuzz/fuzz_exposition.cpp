// Any bytes as an engine's /metrics: no more samples than lines.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "exposition.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> kNames = {"a", "vllm:num_requests_waiting"};
  static smg::prometheus_scrape::Exposition exposition(kNames);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  exposition.read(text);
  const auto* const samples = exposition.first(kNames);
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  if (samples != nullptr && samples->count > lines) std::abort();
  return 0;
}
