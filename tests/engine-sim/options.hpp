#pragma once
// The command line of smg-engine-sim.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "engine.hpp"

namespace smg::sim {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // of the first engine; 0 = each engine gets a free one
  std::uint32_t count = 1;
  std::optional<std::uint16_t> control_port;
  EngineSettings engine;
  std::string script;
  std::string tls_cert;
  std::string tls_key;
  bool quiet = false;
  bool help = false;
};

// Throws std::invalid_argument naming the option, its value and what is allowed.
Options parse_options(int argc, char** argv);
std::string help_text();

}  // namespace smg::sim
