// Rows of [limits].
#include "host/config/settings_rows.hpp"

namespace smg::rows {

void add_limit_rows(Table& table) {
  const auto add = [&](Setting setting) { table.push_back(std::move(setting)); };
  add(ranged(row("limits", "header_timeout_secs", "", SMG_AT(limits.header_timeout_secs),
                 "longest TLS handshake, and longest time for the head of a request"),
             1, 86'400, ""));
  add(ranged(row("limits", "body_timeout_secs", "", SMG_AT(limits.body_timeout_secs),
                 "longest time for every 4 KiB of a request body"),
             1, 86'400, ""));
  add(ranged(row("limits", "idle_timeout_secs", "", SMG_AT(limits.idle_timeout_secs),
                 "how long a connection may stay open between two requests"),
             1, 86'400, ""));
  add(ranged(row("limits", "write_timeout_secs", "", SMG_AT(limits.write_timeout_secs),
                 "how long a client may leave its answer unread; 0: for ever"),
             0, 86'400, ""));
  add(ranged(row("limits", "stream_idle_timeout_secs", "", SMG_AT(limits.stream_idle_timeout_secs),
                 "how long a worker may pause in a stream, comments count; 0: for ever"),
             0, 86'400, ""));
  add(ranged(row("limits", "max_connections", "max-connections", SMG_AT(limits.max_connections),
                 "connections of clients, more are answered 503; 0: what the descriptors allow"),
             0, 1'000'000, ""));
  add(ranged(row("limits", "max_streams", "max-streams", SMG_AT(limits.max_streams),
                 "streams that run at once, more are answered 503; 0: any number"),
             0, 1'000'000, ""));
}

}  // namespace smg::rows
