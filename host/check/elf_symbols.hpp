// What the dynamic linker would see in a library: its exported, needed and GNU-unique symbols.
//
// Reads the section headers and dynamic symbols of an ELF file of this machine; nothing is loaded.
// A pure function of the bytes, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smg::check {

struct ElfSymbols {
  std::vector<std::string> exported;
  std::vector<std::string> undefined;  // strong ones
  std::vector<std::string> unique;     // STB_GNU_UNIQUE, exported or local
  std::vector<std::string> needed;     // libraries, DT_NEEDED
  bool thread_exit = false;            // registers destructors of thread_locals
};

// False, and a sentence in `problem`, if the tables cannot be read. REQUIRES: elf_problem(content)
// found nothing.
bool read_elf_symbols(std::string_view content, ElfSymbols& symbols, std::string& problem);

}  // namespace smg::check
