// Certificates made when the test runs, in a directory of their own that goes with them.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "scratch_directory.hpp"

namespace smg::test {

class Certificates {
 public:
  Certificates();

  std::string authority() const { return certificate("ca"); }
  std::string directory() const { return directory_.path().string(); }
  std::string certificate(const std::string& name) const { return directory_ / (name + ".pem"); }
  std::string key(const std::string& name) const { return directory_ / (name + ".key"); }

  // One more that signs.
  void add_authority(const std::string& name) const;
  // Writes NAME.pem and NAME.key, signed by the authority, for `subject`: DNS:engine.test or
  // IP:127.0.0.1. With fewer than 0 days to live it has expired.
  void issue(const std::string& name, const std::string& subject, int days = 2,
             const std::string& authority = "ca") const;
  // A server's context with that certificate. The caller frees it.
  SSL_CTX* server(const std::string& name) const;

 private:
  ScratchDirectory directory_;
};

}  // namespace smg::test
