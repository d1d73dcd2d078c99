// Takes GNU-unique symbols out of a library's image.
//
// The dynamic linker binds a symbol of that kind to the first definition in the process, so that a
// second version of a library would work with the static variables of the first, and it never
// unloads a library that has one. Compilers make them of inline variables and of statics in
// templates and inline functions. Weak symbols do the same for the program without that: each
// version gets its own, while what the C++ library itself defines still goes before.
#pragma once

#include <cstddef>
#include <string>

namespace smg {

// Returns how many symbols became weak ones. REQUIRES: elf_problem(image) is empty.
std::size_t loosen_unique_symbols(std::string& image);

}  // namespace smg
