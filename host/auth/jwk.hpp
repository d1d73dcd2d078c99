// Public keys of a signer (JWK, RFC 7517), and what they say of a signature.
//
// A key is immutable and may be shared between threads.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smg {

struct PublicKey {
  std::string kid;
  std::string alg;  // the one for which it is made; empty: any of RS256, RS384, RS512
  std::shared_ptr<EVP_PKEY> key;

  bool fits(std::string_view wanted) const {
    return alg.empty() ? wanted.starts_with("RS") : alg == wanted;
  }
};
using KeySet = std::vector<PublicKey>;

// The keys of a key set that can be used: RSA of 2048 to 8192 bits, P-256 and P-384, for
// signatures, with a kid. Others are passed over. Nothing, and why, if it is no key set.
std::optional<KeySet> parse_key_set(std::string_view document, std::string& reason);

// REQUIRES: key.fits(alg).
bool verify_signature(const PublicKey& key, std::string_view alg, std::string_view signed_part,
                      std::string_view signature);

}  // namespace smg
