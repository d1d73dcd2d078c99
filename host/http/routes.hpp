// The table of routes and the look-up in it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/routing/route.hpp"

namespace smg {

struct RouteMatch {
  const Route* route = nullptr;  // nullptr: see below
  bool path_known = false;       // the path exists, the method is wrong
  std::string_view id;           // the segment that stands for a name in braces
};

// `path` is without its query. A HEAD request finds the route of GET.
RouteMatch find_route(std::string_view method, std::string_view path);
std::span<const Route> all_routes();
// Prefix for ids made for requests to any path, known or not.
std::string_view request_id_prefix(std::string_view path);

}  // namespace smg
