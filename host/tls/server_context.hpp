// A TLS context for the listener, made from PEM files. Any thread; blocks for as long as the files
// take.
#pragma once

#include <openssl/types.h>

#include <ctime>
#include <memory>
#include <string>

#include "host/config/config.hpp"

namespace smg {

struct ServerContext {
  std::shared_ptr<SSL_CTX> context;  // nullptr: `error` says why
  std::string error;
  std::time_t not_before = 0;  // of the certificate
  std::time_t not_after = 0;
};

ServerContext make_server_context(const Tls& files);

// Gives `to` the keys that session tickets of `from` are sealed with.
void keep_ticket_keys(SSL_CTX* from, SSL_CTX* to);

}  // namespace smg
