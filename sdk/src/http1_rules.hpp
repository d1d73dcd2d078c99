// What strictness adds to the grammar of HTTP/1.1: plain functions over the bytes of a head. They
// keep nothing; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smg::http1 {

enum class Scan : std::uint8_t { incomplete, complete, malformed, too_long };

// Looks for the blank line that ends a head, and on the way for line ends and foldings that parsers
// disagree about. `scanned` remembers where it stopped; when complete it is the length of the head.
Scan scan_head(const char* data, std::size_t size, std::size_t max, std::size_t& scanned);

// A line feed without a carriage return before it, or one of those that no line feed follows; the
// last byte may still be waiting for it.
bool has_bare_line_end(std::string_view lines);

// A line of `lines` begins with a blank: some parsers take it as more of the value before it.
bool has_folding(std::string_view lines);

// `lower` is in lower case.
bool equals_ignoring_case(std::string_view text, std::string_view lower);

bool is_number(std::string_view text);

// A tab is none, and bytes above 0x7f are none.
bool has_control_byte(std::string_view text);

// Turns the absolute form into path and query, and `*` into "/". False: not a target that may be
// forwarded.
bool normalise_target(std::string_view& target, bool is_options);

// The request line ends in a version of HTTP, but neither 1.0 nor 1.1 nor one before them.
bool names_later_version(std::string_view head);

}  // namespace smg::http1
