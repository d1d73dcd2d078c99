#include "host/plugin/elf_unique.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace smg {
namespace {

template <typename T>
bool read_at(const std::string& image, std::uint64_t offset, T& out) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, image.data() + offset, sizeof(T));
  return true;
}

}  // namespace

std::size_t loosen_unique_symbols(std::string& image) {
  std::size_t count = 0;
  Elf64_Ehdr head{};
  if (!read_at(image, 0, head) || head.e_shentsize != sizeof(Elf64_Shdr)) return count;
  for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!read_at(image, head.e_shoff + i * sizeof section, section)) return count;
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      if (!read_at(image, section.sh_offset + at, symbol)) return count;
      if (ELF64_ST_BIND(symbol.st_info) != STB_GNU_UNIQUE) continue;
      const unsigned info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol.st_info));
      image[section.sh_offset + at + offsetof(Elf64_Sym, st_info)] = static_cast<char>(info);
      ++count;
    }
  }
  return count;
}

}  // namespace smg
