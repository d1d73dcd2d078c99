// The keys for admin routes, each with its owner and role. Only digests of them are kept.
//
// Immutable, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "host/auth/key_digest.hpp"
#include "host/config/config.hpp"

namespace smg {

class AdminKeys {
 public:
  struct Owner {
    std::string id;
    std::string name;
    bool is_admin = false;
  };

  // Entries that are malformed are passed over; so are those whose key is there already.
  explicit AdminKeys(const Auth& auth);

  // nullptr: the key is none of them.
  const Owner* find(std::string_view key) const;
  // The key is the one that clients share.
  bool is_shared(std::string_view key) const;

 private:
  std::unordered_map<KeyDigest, Owner, KeyDigestHash> owners_;
  std::optional<KeyDigest> shared_;
};

}  // namespace smg
