// base64url without padding (RFC 7515, section 2), read strictly: one text for each value.
//
// Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smg {

std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace smg
