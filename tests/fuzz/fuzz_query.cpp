// Any bytes as the query of a route: escapes mean what they stand for, and a filter of events is
// read or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/base/percent_decode.hpp"
#include "host/bus/event_json.hpp"
#include "require.hpp"

using smg::test::require;

namespace {

std::string escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  static std::string decoded;
  static std::string again;
  decoded = "kept";
  if (smg::percent_decode(query, decoded)) {
    require(decoded.starts_with("kept") && decoded.size() <= size + 4, "it is appended");
    again.clear();
    const std::string twice = escaped(std::string_view(decoded).substr(4));
    require(smg::percent_decode(twice, again), "what is escaped can be read");
    require(again == std::string_view(decoded).substr(4), "and is the same");
  } else {
    require(query.find('%') != query.npos, "only an escape can be broken");
  }

  static std::string error;
  error.clear();
  const auto filter = smg::parse_event_filter(query, error);
  require(filter.has_value() == error.empty(), "a filter or a reason");
  if (filter) {
    require((filter->types & ~std::uint64_t{SMG_EVENT_MASK_ALL}) == 0, "events that there are");
    require(filter->worker.size() <= size, "no more than was given");
    const auto same = smg::parse_event_filter("worker=" + escaped(filter->worker), error);
    require(same && same->worker == filter->worker, "a worker is found by its name");
  } else {
    require(error.size() < 256 + 2 * size, "a reason of one sentence");
  }
  return 0;
}
