// The checks that a library's table must pass before anything in it is called.
//
// Reads constant data only. What it cannot find out is whether pointers point to what they should:
// the smoke test of smg-plugin-check runs in a process of its own for that.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/plugin/plugin.hpp"

namespace smg {

// The plugins of the table in this side's layout (their `library` is not set). Empty, and in
// `error` what is wrong, to be put behind the file's name, if any of them fails. `table` may be
// nullptr.
std::vector<std::shared_ptr<Plugin>> check_library(const smg_library* table, std::string& error);

// What is wrong with an option (its default included); empty: nothing. `option` has this side's
// layout.
std::string option_problem(const smg_option& option);

}  // namespace smg
