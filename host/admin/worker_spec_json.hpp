// Worker specifications as the admin API takes them in. Pure, any thread; the bytes are a client's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/config/worker_spec.hpp"
#include "host/routing/request/body_error.hpp"

namespace smg {

// Why a body was not taken: `body` is not what the route reads, or else `refusal` says which value
// is not allowed.
struct SpecError {
  BodyError body;
  std::string refusal;
};

// The body of POST and PUT. Limits of overload ceilings are not checked here.
std::optional<WorkerSpec> parse_worker_spec(std::string_view body, SpecError& error);
// The body of PATCH. What cannot be changed that way is passed over.
std::optional<WorkerPatch> parse_worker_patch(std::string_view body, SpecError& error);

}  // namespace smg
