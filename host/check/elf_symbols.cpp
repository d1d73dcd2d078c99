#include "host/check/elf_symbols.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace smg::check {
namespace {

template <typename T>
bool read_at(std::string_view content, std::uint64_t offset, T& out) {
  if (offset > content.size() || content.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, content.data() + offset, sizeof(T));
  return true;
}

std::string_view part(std::string_view content, const Elf64_Shdr& section) {
  if (section.sh_offset > content.size() || section.sh_size > content.size() - section.sh_offset) {
    return {};
  }
  return content.substr(section.sh_offset, section.sh_size);
}

std::string name_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto rest = strings.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

void take_symbol(const Elf64_Sym& symbol, const std::string& name, bool dynamic,
                 ElfSymbols& symbols) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const bool defined = symbol.st_shndx != SHN_UNDEF;
  if (binding == STB_GNU_UNIQUE && defined) symbols.unique.push_back(name);
  if (name == "__cxa_thread_atexit" || name == "__cxa_thread_atexit_impl") {
    symbols.thread_exit = true;
  }
  if (!dynamic || name.empty() || binding == STB_LOCAL) return;
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  if (!defined) {
    if (binding != STB_WEAK) symbols.undefined.push_back(name);
  } else if (visibility == STV_DEFAULT || visibility == STV_PROTECTED) {
    symbols.exported.push_back(name);
  }
}

}  // namespace

bool read_elf_symbols(std::string_view content, ElfSymbols& symbols, std::string& problem) {
  problem =
      "has no readable table of dynamic symbols; link it again, and do not strip its sections";
  Elf64_Ehdr head{};
  if (!read_at(content, 0, head)) return false;
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (!read_at(content, head.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return false;
  }
  bool found = false;
  for (const auto& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const auto bytes = part(content, section);
    const auto strings = part(content, sections[section.sh_link]);
    if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB) {
      found = found || section.sh_type == SHT_DYNSYM;
      Elf64_Sym symbol{};
      for (std::size_t at = 0; read_at(bytes, at, symbol); at += sizeof symbol) {
        take_symbol(symbol, name_at(strings, symbol.st_name), section.sh_type == SHT_DYNSYM,
                    symbols);
      }
    } else if (section.sh_type == SHT_DYNAMIC) {
      Elf64_Dyn entry{};
      for (std::size_t at = 0; read_at(bytes, at, entry) && entry.d_tag != DT_NULL;
           at += sizeof entry) {
        if (entry.d_tag == DT_NEEDED) symbols.needed.push_back(name_at(strings, entry.d_un.d_val));
      }
    }
  }
  if (found) problem.clear();
  return found;
}

}  // namespace smg::check
