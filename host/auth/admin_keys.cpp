#include "host/auth/admin_keys.hpp"

#include "host/config/credentials.hpp"

namespace smg {

AdminKeys::AdminKeys(const Auth& auth) {
  std::string reason;
  for (const auto& entry : auth.control_plane_api_keys) {
    const auto key = parse_admin_key(entry, reason);
    if (!key) continue;
    owners_.emplace(digest_of(key->key),
                    Owner{std::string(key->id), std::string(key->name), key->is_admin});
  }
  if (!auth.api_key.empty()) shared_ = digest_of(auth.api_key);
}

const AdminKeys::Owner* AdminKeys::find(std::string_view key) const {
  if (key.empty() || owners_.empty()) return nullptr;
  const auto found = owners_.find(digest_of(key));
  return found == owners_.end() ? nullptr : &found->second;
}

bool AdminKeys::is_shared(std::string_view key) const {
  return shared_ && !key.empty() && *shared_ == digest_of(key);
}

}  // namespace smg
