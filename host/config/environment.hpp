// Settings that an environment variable may bring.
//
// Any thread, as long as none changes the environment.
#pragma once

#include "host/config/load.hpp"

namespace smg {

// Sets what neither the file nor a flag has set. Lists stand between commas and blanks.
void read_environment(Draft& draft);

}  // namespace smg
