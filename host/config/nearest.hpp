// "Did you mean": the known word that is closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace smg {

// The word with the smallest edit distance, if that is small against its length; else empty.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known);
// `; did you mean X?`, or nothing.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> known);

}  // namespace smg
