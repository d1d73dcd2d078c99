#include "host/auth/serving_keys.hpp"

#include <algorithm>

#include "host/config/credentials.hpp"

namespace smg {
namespace {

constexpr std::size_t kMostOfTenant = 256;

// A name that can stand in a log line and in a label.
bool is_tenant(std::string_view name) {
  return !name.empty() && name.size() <= kMostOfTenant &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

ServingKeys::ServingKeys(const Auth& auth, Families& families)
    : trust_header_(auth.trust_tenant_header),
      refused_(families.auth_rejections.with({"serving", "401"})) {
  if (!auth.api_key.empty()) {
    const KeyDigest digest = digest_of(auth.api_key);
    tenants_.emplace(digest, "auth:" + digest_name(digest));
  }
  std::string reason;
  for (const auto& entry : auth.tenant_api_keys) {
    if (const auto key = parse_tenant_key(entry, reason)) {
      tenants_.emplace(digest_of(key->key), "auth:" + std::string(key->tenant));
    }
  }
}

ServingKeys::Who ServingKeys::check(std::string_view authorization) const {
  if (tenants_.empty()) return {Access::open, {}};
  const std::string_view token = bearer_token(authorization);
  if (!token.empty()) {
    const auto found = tenants_.find(digest_of(token));
    if (found != tenants_.end()) return {Access::granted, found->second};
  }
  refused_.add();
  return {Access::refused, {}};
}

void ServingKeys::unknown_tenant(std::string_view header, std::string_view address,
                                 std::string& to) const {
  if (trust_header_ && is_tenant(header)) {
    to.assign("header:").append(header);
  } else if (!address.empty()) {
    to.assign("ip:").append(address);
  } else {
    to.assign("anonymous");
  }
}

}  // namespace smg
