// The smoke test: one short life of every plugin in a library, in a process that may come to harm.
//
// The process is a child of the gateway or of `smg plugins`; what it finds is one line of JSON. A
// library that crashes, hangs or ends the process leaves no line, and the parent draws its own
// conclusion.
#pragma once

#include <string>

namespace smg::check {

struct SmokeOrder {
  std::string file;
  std::string options_file;  // empty: defaults
  int verdict_fd = 1;
};

// Limits this process, does all of it, writes the verdict and ends the process: 0 if the library
// passed, 1 if not.
[[noreturn]] void smoke(const SmokeOrder& order);

}  // namespace smg::check
