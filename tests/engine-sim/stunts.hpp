#pragma once
// Answers that are not an API's: exact bytes, an endless stream, an echo of the request.

#include <memory>
#include <string>

#include "api_request.hpp"
#include "connection.hpp"

namespace smg::sim {

// Answers the current request of the connection as request.stunt says.
void perform_stunt(Connection& connection, const ApiRequest& request);

// The bytes of sim_body_bytes: 64-bit words of the splitmix64 sequence, little-endian.
class PseudoRandomBytes {
 public:
  explicit PseudoRandomBytes(std::uint64_t seed) : state_(seed) {}
  void append(std::string& out, std::uint64_t count);

 private:
  std::uint64_t state_;
};

}  // namespace smg::sim
