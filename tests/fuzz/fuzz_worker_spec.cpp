// Any bytes as the body of POST or PATCH /workers: a specification that passes the checks of the
// configuration, or one reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/admin/worker_spec_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  smg::SpecError error;
  if (const auto spec = smg::parse_worker_spec(body, error)) {
    if (error.body || !error.refusal.empty() || spec->url.text.empty()) std::abort();
  } else if (!error.body && error.refusal.empty()) {
    std::abort();
  }
  smg::SpecError patch_error;
  if (!smg::parse_worker_patch(body, patch_error) && !patch_error.body &&
      patch_error.refusal.empty()) {
    std::abort();
  }
  return 0;
}
