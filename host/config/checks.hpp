// What is checked once all settings are read: settings against each other.
#pragma once

#include <string>
#include <string_view>

#include "host/config/load.hpp"

namespace smg {

// How a message about the setting `section.key` begins: where it got its value, or the key itself.
std::string origin(const Draft& draft, std::string_view setting);

// Adds to draft.problems and to draft.config.warnings.
void check_together(Draft& draft);

}  // namespace smg
