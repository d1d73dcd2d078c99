// The keys of [auth] as they are written: `tenant:key` and `id:name:role:key`.
//
// The views are of the text that was parsed. No reason tells a key. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smg {

struct TenantKey {
  std::string_view tenant;
  std::string_view key;  // may have colons
};

struct AdminKey {
  std::string_view id;
  std::string_view name;
  bool is_admin = false;  // else its role is user
  std::string_view key;   // may have colons
};

// Nothing, and in `reason` what is wrong.
std::optional<TenantKey> parse_tenant_key(std::string_view text, std::string& reason);
std::optional<AdminKey> parse_admin_key(std::string_view text, std::string& reason);

// What is wrong with a key that a client shows behind `Bearer `, or nothing.
std::string key_problem(std::string_view key);

// The rules for [auth] as a whole.
struct Draft;
void check_auth(Draft& draft);

}  // namespace smg
