// Cross-origin header lines. Without configured origins everybody may do everything; with origins,
// only they.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smg {

// What any answer to a request of that origin carries; nothing if the origin is not allowed.
void append_cors_headers(std::string& out, const std::vector<std::string>& allowed,
                         std::string_view origin);
// What the answer to a preflight request carries besides.
std::string_view preflight_headers(const std::vector<std::string>& allowed);

}  // namespace smg
