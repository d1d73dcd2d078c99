// What a client's headers say about where its request should go. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "smg/abi.h"

namespace consistent_hashing {

// Views into the headers. Of a header that comes more than once, the first counts.
struct RoutingHeaders {
  // x-smg-target-worker; nullopt if it is missing, empty or not visible ASCII.
  std::optional<std::string_view> target_worker;
  // x-smg-routing-key; empty if it is missing or not 1 to 128 bytes of UTF-8.
  std::string_view routing_key;
  // The first one present of authorization, x-forwarded-for and cookie, in this order; empty if
  // there is none, or that one is empty or not visible ASCII.
  std::string_view implicit_key;
};

RoutingHeaders read_headers(std::span<const smg_header> headers);

// "7" or "+7"; nullopt for anything else, and above 2^32 - 1.
std::optional<uint32_t> parse_index(std::string_view value);

bool is_utf8(std::string_view value);

}  // namespace consistent_hashing
