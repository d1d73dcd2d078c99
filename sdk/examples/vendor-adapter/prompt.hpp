// A client's request, in the words of the engine.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "smg/transport.h"

namespace acme {

struct Prompt {
  boost::json::object generate;  // the frame, but for its id
  bool usage = false;            // stream_options.include_usage
};

// Nothing, and in `error` what the client did wrong.
std::optional<Prompt> read_prompt(const smg_request& request, std::string& error);

}  // namespace acme
