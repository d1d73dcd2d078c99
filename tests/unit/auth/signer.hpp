// Makes keys and signs tokens with them, as an issuer does, rightly and wrongly.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/support/base64url.hpp"

namespace smg::test {

class Signer {
 public:
  // "RSA" of so many bits, "P-256" or "P-384".
  explicit Signer(std::string_view type, unsigned bits = 2048);

  // The public key as a member of a key set; `more` are further members, each with its comma.
  std::string jwk(std::string_view kid, std::string_view more = {}) const;
  // The signature as a JWS has it.
  std::string sign(std::string_view alg, std::string_view text) const;
  std::string token(std::string_view alg, std::string_view kid, std::string_view claims) const;
  // With any header; signed as `alg` says.
  std::string token_with(std::string_view header, std::string_view claims,
                         std::string_view alg) const;
  std::string public_pem() const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  bool is_rsa_;
};

// Signers are dear to make, so these are made once.
const Signer& rsa();
const Signer& p256();
const Signer& p384();
// A second of the kind, whose public key nobody has.
const Signer& stranger();

std::string hmac_sha256(std::string_view key, std::string_view text);

}  // namespace smg::test
