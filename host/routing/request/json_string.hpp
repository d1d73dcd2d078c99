// JSON string literals: from the wire and to it. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace smg {

// Appends the text that `raw` stands for: a literal without its quotes, known to be closed and
// UTF-8. False for an escape that does not exist, and for a surrogate without its other half; `out`
// then has a part of it.
bool append_unescaped(std::string& out, std::string_view raw);

// Appends `text` (UTF-8) as a literal with quotes.
void append_quoted(std::string& out, std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace smg
