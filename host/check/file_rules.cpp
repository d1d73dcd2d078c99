#include <dlfcn.h>

#include <algorithm>

#include "host/check/child.hpp"
#include "host/check/elf_symbols.hpp"
#include "host/check/rules.hpp"
#include "host/plugin/elf_check.hpp"

namespace smg::check {
namespace {

constexpr const char* kEntry = "smg_plugin_entry";
constexpr unsigned kSeconds = 10;

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::string all;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    all += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kMost) all += " and " + std::to_string(names.size() - kMost) + " more";
  return all;
}

Finding exports(const ElfSymbols& symbols) {
  if (std::find(symbols.exported.begin(), symbols.exported.end(), kEntry) ==
      symbols.exported.end()) {
    return broken(std::string("does not export ") + kEntry,
                  "return the table of the library from it, with default visibility (SMG_EXPORT)");
  }
  if (symbols.exported.size() == 1) return passed(std::string("exports ") + kEntry + " alone");
  std::vector<std::string> others;
  std::copy_if(symbols.exported.begin(), symbols.exported.end(), std::back_inserter(others),
               [](const std::string& name) { return name != kEntry; });
  return broken("exports more than one symbol: " + listed(others),
                "compile with -fvisibility=hidden and link with the SDK's smg-plugin.map, as "
                "smg_add_plugin does");
}

// Whether the libraries that it names provide all that it needs: what this process happens to have
// does not count.
Finding undefined_symbols(const ElfSymbols& symbols) {
  std::vector<std::string> open = symbols.undefined;
  std::vector<std::string> not_found;
  for (const auto& name : symbols.needed) {
    void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      not_found.push_back(name);
      continue;
    }
    std::erase_if(
        open, [&](const std::string& symbol) { return dlsym(library, symbol.c_str()) != nullptr; });
  }
  if (open.empty()) {
    return passed(std::to_string(symbols.undefined.size()) + " symbols, all from " +
                  listed(symbols.needed));
  }
  if (!not_found.empty()) {
    return skipped("cannot tell: " + listed(not_found) + " is found by the plugin alone");
  }
  return broken("needs symbols that its libraries do not have: " + listed(open),
                "link what they come from (-Wl,--no-undefined tells when building); nothing of "
                "the gateway may be used by name");
}

}  // namespace

std::vector<FileRule> file_rules(const std::string& file, std::string_view content) {
  std::vector<FileRule> rules;
  std::string problem = elf_problem(content);
  ElfSymbols symbols;
  if (problem.empty()) read_elf_symbols(content, symbols, problem);
  if (!problem.empty()) {
    rules.push_back(
        {"elf", broken(file + " " + problem, "build a shared library for this machine")});
    return rules;
  }
  rules.push_back({"elf", passed("a whole shared library for this machine")});
  rules.push_back({"exports", exports(symbols)});
  rules.push_back(
      {"undefined-symbols", in_child(kSeconds, [&] { return undefined_symbols(symbols); })});
  return rules;
}

std::vector<FileRule> unload_rules(std::string_view content, bool unloadable) {
  ElfSymbols symbols;
  std::string problem;
  read_elf_symbols(content, symbols, problem);
  constexpr const char* kSays = "the library does not say that it can be unloaded";
  if (!unloadable) return {{"gnu-unique", skipped(kSays)}, {"thread-local", skipped(kSays)}};
  return {{"gnu-unique",
           symbols.unique.empty()
               ? passed("none")
               : broken("has GNU-unique symbols, which keep it in memory for good: " +
                            listed(symbols.unique),
                        "compile with -fno-gnu-unique, as smg_add_plugin does, or leave out "
                        "SMG_PLUGIN_UNLOADABLE")},
          {"thread-local",
           !symbols.thread_exit
               ? passed("no thread_local has a destructor")
               : broken("has a thread_local with a destructor, which keeps it in memory for good",
                        "keep what belongs to a thread in the instance, by loop.current, or leave "
                        "out SMG_PLUGIN_UNLOADABLE")}};
}

}  // namespace smg::check
