// The keys that clients may show on serving routes, and whose request it is then.
//
// Made from the configuration, anew at each reload, and never changed: shared between the loops,
// any thread. Only SHA-256 digests of the keys are kept and compared. A check is one digest and one
// look-up; nothing is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "host/auth/key_digest.hpp"
#include "host/config/config.hpp"
#include "host/metrics/families.hpp"

namespace smg {

class ServingKeys {
 public:
  enum class Access : std::uint8_t {
    open,     // no key is configured: see unknown_tenant()
    granted,  // the key is one of those, `tenant` says whose
    refused,  // 401 with an empty body; it is counted
  };
  struct Who {
    Access access;
    std::string_view tenant;  // "auth:..."; lives as long as the object that said it
  };

  // REQUIRES: `auth` has passed the checks of the configuration.
  ServingKeys(const Auth& auth, Families& families);

  // `authorization` is the value of the header; empty where there is none, or more than one.
  Who check(std::string_view authorization) const;

  // Where no key is configured: "header:...", "ip:..." or "anonymous". `header` is the value of the
  // header that auth.tenant_header_name names, `address` that of the client without its port; each
  // may be empty. `to` keeps its memory.
  void unknown_tenant(std::string_view header, std::string_view address, std::string& to) const;

 private:
  std::unordered_map<KeyDigest, std::string, KeyDigestHash> tenants_;
  bool trust_header_;
  Series refused_;
};

}  // namespace smg
