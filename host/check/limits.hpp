// Limits that a process sets to itself before it runs the code of a library that nobody knows.
#pragma once

namespace smg::check {

inline constexpr unsigned kSmokeSeconds = 4;  // of time and of computing

// At most two GiB beyond what the process has, no core file, and an end with the parent.
void limit_memory();

// The same, and an end after kSmokeSeconds. For the life of the process.
void limit_this_process();

}  // namespace smg::check
