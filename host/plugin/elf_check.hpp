// Whether the bytes of a file are a whole shared library for this machine.
//
// The dynamic linker says little about a file that it cannot load, and dies of SIGBUS on a
// truncated one.
#pragma once

#include <string>
#include <string_view>

namespace smg {

// Empty if so; else what is wrong, to be put behind the file's name.
std::string elf_problem(std::string_view content);

}  // namespace smg
