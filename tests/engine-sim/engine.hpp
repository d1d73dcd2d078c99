// One simulated engine: its model, what it says of itself, and the faults it has been told to show.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace smg::sim {

enum class Dialect : std::uint8_t { vllm, sglang };

// What goes wrong with requests. `after` counts tokens where it matters; `count` requests, -1 for
// all that follow.
struct Fault {
  std::string kind;
  std::int64_t count = -1;
  std::int64_t after = 0;
};

// One data-plane request as it came in, for tests.
struct Seen {
  std::string method;
  std::string target;
  std::uint64_t body_bytes;
};

struct Engine {
  Engine(std::string name, Dialect dialect_, const ModelSettings& settings)
      : model_name(std::move(name)), dialect(dialect_), model(settings) {}

  std::string model_name;
  Dialect dialect;
  Model model;
  std::uint16_t port = 0;
  int listener = -1;
  bool fast = false;  // no model: answers at once, streams at their own interval
  std::deque<Fault> faults;
  std::deque<Seen> seen;
  std::uint64_t requests = 0;
  std::uint64_t completed = 0;
  std::uint64_t aborted = 0;  // given up by the peer before the answer was whole
  std::uint64_t connections = 0;

  // The fault for the next request, used up by it; an empty kind for none.
  Fault next_fault();
  bool has_fault(std::string_view kind) const;

  std::string loads_json(std::string_view timestamp) const;
  std::string metrics_text() const;
  std::string models_json() const;
};

// Names that a fault may have, for messages.
std::string_view fault_kinds();
bool is_fault(std::string_view kind);

}  // namespace smg::sim
