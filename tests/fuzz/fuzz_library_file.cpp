// Any bytes as the file of a plugin: what passes for a whole library can be gone through, and only
// the binding of its GNU-unique symbols is changed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "host/plugin/elf_check.hpp"
#include "host/plugin/elf_unique.hpp"
#include "require.hpp"

using smg::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::string image;
  static std::string before;
  image.assign(reinterpret_cast<const char*>(data), size);
  const std::string problem = smg::elf_problem(image);
  require(problem.find('\n') == std::string::npos, "one sentence");
  if (!problem.empty()) return 0;
  before = image;
  const std::size_t loosened = smg::loosen_unique_symbols(image);
  require(image.size() == size, "the file keeps its size");
  std::size_t changed = 0;
  for (std::size_t i = 0; i < size; ++i) changed += image[i] != before[i];
  require(changed <= loosened, "one byte a symbol");
  return 0;
}
