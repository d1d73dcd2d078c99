// Tells a service manager that waits for it (systemd, Type=notify) how the gateway is.
//
// Any thread. Without NOTIFY_SOCKET in the environment nothing happens; a manager that is not there
// is no error. The format is that of sd_notify(3).
#pragma once

#include <string_view>

namespace smg {

// `state`: "READY=1", "STOPPING=1", also with further lines.
void notify_service_manager(std::string_view state);

}  // namespace smg
