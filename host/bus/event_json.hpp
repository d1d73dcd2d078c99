// Events as operators see them on GET /events: server-sent events with a JSON object each, and the
// filter of that route.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smg/events.h"

namespace smg {

// `worker_added`, ...; empty for an unknown number.
std::string_view event_type_name(std::uint32_t type);

// One object. `time_ns` is monotonic; block hashes are hexadecimal strings, as JSON readers round
// large numbers. REQUIRES: `event` is the head of the struct that its type says.
std::string event_json(const smg_event& event);

// Appends `id: <sequence>\nevent: <type name>\ndata: <json>\n\n`.
void append_event_stream(std::string& out, const smg_event& event);

struct EventFilter {
  std::uint64_t types = SMG_EVENT_MASK_ALL;
  std::string worker;  // empty: any, and events that are about no worker

  bool matches(const smg_event& event) const;
};

// From a query string without the question mark, for example
// `types=load_report,verdict_changed&worker=http://w:8000`. Nothing, and a sentence in `error`, for
// unknown keys or types.
std::optional<EventFilter> parse_event_filter(std::string_view query, std::string& error);

}  // namespace smg
