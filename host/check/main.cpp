// smg-plugin-check: whether a plugin library keeps the rules of the ABI.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "host/check/command.hpp"
#include "host/check/report.hpp"
#include "host/check/smoke.hpp"

int main(int count, char** words) {
  using namespace smg::check;
  const std::vector<std::string> arguments(words + 1, words + count);
  std::string problem;
  const Command command = read_command(arguments, problem);
  if (!problem.empty()) {
    std::cerr << "smg-plugin-check: " << problem << "\n";
    return 2;
  }
  if (command.help) {
    std::cout << usage();
    return 0;
  }
  if (command.smoke) smoke({command.file, command.options_file, command.verdict_fd});
  return report(command);
}
