// The id of a request: the client's, or one made here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/random.hpp"
#include "smg/cpp/http1.hpp"

namespace smg {

// Appends the value of the first of `names` that the request has, or a prefix by path and 24 random
// letters and digits.
void choose_request_id(std::string& out, std::span<const http1::Field> fields,
                       const std::vector<std::string>& names, std::string_view path,
                       Random& random);

}  // namespace smg
