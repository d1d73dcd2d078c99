// The plugin's options as its descriptor declares them, read once in create().
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "smg/cpp/host.hpp"
#include "smg/plugin.h"

namespace smg::http {

struct TlsSettings {
  std::string ca_file;      // PEM; empty: the system's store
  std::string ca_path;      // directory of hashed PEM files
  std::string client_cert;  // PEM chain; empty: none is shown
  std::string client_key;   // PEM
  bool insecure = false;    // accept whatever certificate comes

  bool given() const {
    return insecure || !ca_file.empty() || !ca_path.empty() || !client_cert.empty() ||
           !client_key.empty();
  }
};

struct Settings {
  uint64_t connect_timeout = 0;  // ns, TLS handshake included
  uint64_t idle_timeout = 0;     // ns; 0: idle connections are kept for good
  uint32_t idle_limit = 0;       // idle connections of one worker on one loop
  TlsSettings tls;
};

// What the descriptor shows of them.
std::span<const smg_option> option_table();

// Throws Error. `loops`: all of the process, the control loop included.
Settings read_settings(Host host, uint32_t loops);

}  // namespace smg::http
