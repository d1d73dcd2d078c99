// The gateway's error answers: one shape, one table from (status, code) to `error.type`.
//
// {"error":{"type":T,"code":C,"message":M,"param":null}} with the header X-SMG-Error-Code: C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smg {

std::string_view reason_phrase(std::uint32_t status);
// The body of an error answer; `message` is escaped.
std::string error_body(std::uint32_t status, std::string_view code, std::string_view message);
// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace smg
