// What the admin API answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smg {

struct AdminReply {
  std::uint32_t status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string error_code;     // empty: no X-SMG-Error-Code
  std::string extra_headers;  // whole lines, each with CRLF
};

// In the shape of all errors of the gateway.
AdminReply error_reply(std::uint32_t status, std::string_view code, std::string_view message);

}  // namespace smg
