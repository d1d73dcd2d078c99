// All rules, in the order of the report.
//
// The first ones are about the file and run nothing of it; the others are about one plugin each and
// run in a child process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/check/subject.hpp"

namespace smg::check {

struct FileRule {
  const char* id;
  Finding finding;
};

// `elf`, `exports`, `undefined-symbols`, `gnu-unique` and `thread-local`, until one fails that the
// others build on. `unloadable`: what the library says of itself.
std::vector<FileRule> file_rules(const std::string& file, std::string_view content);
std::vector<FileRule> unload_rules(std::string_view content, bool unloadable);

std::span<const Rule> instance_rules();  // any kind
std::span<const Rule> policy_rules();
std::span<const Rule> transport_rules();
std::span<const Rule> cancel_rules();  // transports
std::span<const Rule> monitor_rules();
std::span<const Rule> handover_rules();   // any kind
std::span<const Rule> endurance_rules();  // any kind

}  // namespace smg::check
