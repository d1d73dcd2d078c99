#pragma once
// A script: orders to the engines at set times after the start, from a TOML file. Each [[event]]
// has at_ms, optionally engine, and one of fault = {..}, config = {..}, reset = true; a fault may
// also be written flat, with kind and its parameters next to at_ms.

#include <memory>
#include <string>
#include <vector>

#include "control.hpp"

namespace smg::sim {

struct ScriptEvent {
  std::int64_t at_ms;
  Order order;
  boost::json::object fields;
};

// Sorted by time. Throws std::runtime_error naming file, line and what is wrong.
std::vector<ScriptEvent> read_script(const std::string& file, std::size_t engines);

class ScriptRunner {
 public:
  ScriptRunner(Loop& loop, std::vector<ScriptEvent> events, Engines& engines);

 private:
  void run_due();
  void arm();
  static void fired(void* self);

  Loop& loop_;
  std::vector<ScriptEvent> events_;
  Engines& engines_;
  std::size_t next_ = 0;
  std::int64_t start_ms_;
  Timer timer_;
};

}  // namespace smg::sim
