// The plugin's options as its descriptor declares them, read once in create().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "smg/cpp/host.hpp"
#include "smg/plugin.h"
#include "smg/worker.h"

namespace smg::http {

struct TlsSettings {
  std::vector<std::string> ca_files;  // PEM; none, nor a ca_path: the system's store
  std::string ca_path;                // directory of hashed PEM files
  std::string client_cert;            // PEM chain; empty: none is shown
  std::string client_key;             // PEM
  bool insecure = false;              // accept whatever certificate comes

  bool given() const {
    return insecure || !ca_files.empty() || !ca_path.empty() || !client_cert.empty() ||
           !client_key.empty();
  }
  // These, but for what the worker has of its own.
  TlsSettings for_worker(const smg_worker& worker) const;
  bool operator==(const TlsSettings&) const = default;
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
