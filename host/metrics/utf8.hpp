// Text that came from outside, made safe for formats that demand valid UTF-8 (Prometheus, JSON,
// SSE).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smg {

// `text` with every invalid sequence replaced by U+FFFD, cut in front of the first character that
// would reach beyond `limit` bytes.
std::string valid_utf8(std::string_view text, std::size_t limit = std::string_view::npos);

}  // namespace smg
