// Tries something in a child process first, for what may crash or hang.
#pragma once

#include <functional>
#include <string>

namespace smg {

// Empty if `attempt` came to its end, whatever it found, else what became of the child: killed by a
// signal, ended by itself, or still busy after kCanarySeconds. Control thread, before others run.
std::string try_in_child(const std::function<void()>& attempt);

inline constexpr unsigned kCanarySeconds = 10;

}  // namespace smg
