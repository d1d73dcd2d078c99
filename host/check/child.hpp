// A rule in a process of its own, so that a library that crashes or hangs costs one rule.
#pragma once

#include <functional>

#include "host/check/finding.hpp"

namespace smg::check {

// Forks, runs `rule` in the child under limits, and hands back what it found. A child that ends
// otherwise, or is still at work after `seconds`, is a failure. REQUIRES: this process has one
// thread.
Finding in_child(unsigned seconds, const std::function<Finding()>& rule);

// Runs `rule`; an exception that comes out of it is a failure. Within the life of the library: the
// exception may be of a type that is its own.
Finding guarded(const std::function<Finding()>& rule);

}  // namespace smg::check
