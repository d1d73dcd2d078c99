#include "host/plugin/elf_check.hpp"

#include <elf.h>
#include <link.h>

#include <bit>
#include <cstring>

namespace smg {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "name the ELF machine of this target here"
#endif

constexpr unsigned char kByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

std::string machine_name(Elf64_Half machine) {
  switch (machine) {
    case EM_386:
      return "i386";
    case EM_ARM:
      return "32-bit ARM";
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "ppc64";
    default:
      return "machine type " + std::to_string(machine);
  }
}

template <typename T>
bool read_at(std::string_view content, std::uint64_t offset, T& out) {
  if (offset > content.size() || content.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, content.data() + offset, sizeof(T));
  return true;
}

bool inside(std::string_view content, std::uint64_t offset, std::uint64_t size) {
  return offset <= content.size() && size <= content.size() - offset;
}

std::string truncated(std::string_view content) {
  return "is truncated: only " + std::to_string(content.size()) +
         " bytes of the library are there; copy it again";
}

}  // namespace

std::string elf_problem(std::string_view content) {
  if (content.empty()) return "is empty";
  if (content.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) {
    return "is no shared library (not an ELF file)";
  }
  Elf64_Ehdr head{};
  if (!read_at(content, 0, head)) return truncated(content);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != kByteOrder ||
      head.e_machine != kMachine) {
    return "was built for " + machine_name(head.e_machine) + ", this gateway runs on " +
           machine_name(kMachine);
  }
  if (head.e_type != ET_DYN) return "is an ELF file but no shared library; link it with -shared";
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(content, head.e_phoff + i * sizeof(segment), segment) ||
        (segment.p_type == PT_LOAD && !inside(content, segment.p_offset, segment.p_filesz))) {
      return truncated(content);
    }
  }
  if (head.e_shnum > 0 &&
      !inside(content, head.e_shoff, std::uint64_t{head.e_shnum} * sizeof(Elf64_Shdr))) {
    return truncated(content);
  }
  return {};
}

}  // namespace smg
