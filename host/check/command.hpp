// The command line of smg-plugin-check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smg::check {

struct Command {
  std::string file;
  std::string options_file;
  std::string kind;    // empty: all kinds
  std::string engine;  // URL of a running engine; empty: the one that is built in
  std::string rule;    // empty: all rules
  int verdict_fd = 1;
  bool smoke = false;
  bool full = false;
  bool json = false;
  bool uniform = false;
  bool help = false;
};

// `problem` is a sentence if the words make no sense.
Command read_command(const std::vector<std::string>& words, std::string& problem);

std::string_view usage();

}  // namespace smg::check
