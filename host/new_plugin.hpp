// `smg plugins new`: a project for a plugin of one's own, made from the templates of the SDK.
//
// A template is itself a plugin that can be built, named `my_plugin`; a project is a copy with
// another name. They lie in share/smg/sdk/templates beside the directory of the program.
#pragma once

#include <filesystem>
#include <string>

#include "host/config/command_line.hpp"

namespace smg {

// Writes the project and returns what to do next, as text for the terminal. On failure the answer
// is empty, `error` says why, with a line end, and nothing is left behind.
std::string write_project(const NewPlugin& wish, const std::filesystem::path& program,
                          std::string& error);

}  // namespace smg
