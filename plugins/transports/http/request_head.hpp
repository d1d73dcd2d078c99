// The head of a request as it goes over the wire. Made from the request whenever it is needed,
// which is nearly always once: so nobody has to keep it.
#pragma once

#include <cstddef>

#include "endpoint.hpp"
#include "smg/transport.h"

namespace smg::http {

// Bytes that write_head() will write.
std::size_t head_size(const Endpoint& endpoint, const smg_request& request);
// REQUIRES: room for head_size() bytes.
void write_head(const Endpoint& endpoint, const smg_request& request, char* to);

}  // namespace smg::http
