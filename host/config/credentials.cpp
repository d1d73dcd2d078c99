#include "host/config/credentials.hpp"

#include <algorithm>
#include <map>

#include "host/config/checks.hpp"
#include "host/config/load.hpp"
#include "host/config/worker_url.hpp"

namespace smg {
namespace {

bool has_blank_end(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  return !text.empty() && (kBlanks.find(text.front()) != std::string_view::npos ||
                           kBlanks.find(text.back()) != std::string_view::npos);
}

std::string name_problem(std::string_view what, std::string_view name) {
  if (name.empty()) return "has an empty " + std::string(what);
  if (has_blank_end(name)) return "has blanks around its " + std::string(what);
  return {};
}

// `[auth] tenant_api_keys: entry 2 ` and the like; no entry is shown.
std::string entry(const Draft& draft, std::string_view setting, std::size_t index) {
  return origin(draft, setting) + ": entry " + std::to_string(index + 1) + " ";
}

void check_serving_keys(Draft& draft) {
  const Auth& auth = draft.config.auth;
  if (const auto problem = key_problem(auth.api_key); !auth.api_key.empty() && !problem.empty()) {
    draft.problems.add(origin(draft, "auth.api_key") + ": the key " + problem);
  }
  // Key -> how it is called.
  std::map<std::string_view, std::string> known;
  if (!auth.api_key.empty()) known[auth.api_key] = "api_key";
  for (std::size_t i = 0; i < auth.tenant_api_keys.size(); ++i) {
    std::string reason;
    const auto key = parse_tenant_key(auth.tenant_api_keys[i], reason);
    if (!key) {
      draft.problems.add(entry(draft, "auth.tenant_api_keys", i) + reason);
      continue;
    }
    const auto [same, fresh] =
        known.emplace(key->key, "entry " + std::to_string(i + 1) + " (tenant '" +
                                    printable_text(key->tenant) + "')");
    if (fresh) continue;
    draft.problems.add(entry(draft, "auth.tenant_api_keys", i) + "(tenant '" +
                       printable_text(key->tenant) + "') has the same key as " + same->second +
                       "; a key has to tell whose request it is, so choose another");
  }
}

void check_admin_keys(Draft& draft) {
  const Auth& auth = draft.config.auth;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < auth.control_plane_api_keys.size(); ++i) {
    std::string reason;
    const auto key = parse_admin_key(auth.control_plane_api_keys[i], reason);
    if (key && !known.emplace(key->key, i).second) {
      reason = "has the same key as entry " + std::to_string(known[key->key] + 1);
    }
    if (reason.empty()) continue;
    draft.config.warnings.push_back(entry(draft, "auth.control_plane_api_keys", i) + reason +
                                    ": skipped");
  }
}

void check_jwt(Draft& draft) {
  const Auth& auth = draft.config.auth;
  const auto is_url = [](const std::string& text) {
    return text.starts_with("https://") || text.starts_with("http://");
  };
  if (auth.jwt_issuer.empty() != auth.jwt_audience.empty()) {
    draft.config.warnings.push_back(
        std::string("auth.jwt_issuer and auth.jwt_audience belong together, but only ") +
        (auth.jwt_issuer.empty() ? "jwt_audience" : "jwt_issuer") +
        " is set: no tokens are accepted on admin routes");
  } else if (auth.jwt_issuer.empty() && !auth.jwt_jwks_uri.empty()) {
    draft.config.warnings.push_back(
        "auth.jwt_jwks_uri is set, but neither auth.jwt_issuer nor auth.jwt_audience: no tokens "
        "are accepted on admin routes");
  }
  if (!auth.jwt_jwks_uri.empty() && !is_url(auth.jwt_jwks_uri)) {
    draft.problems.add(origin(draft, "auth.jwt_jwks_uri") +
                       ": must begin with https:// or http://");
  }
  if (auth.jwt_jwks_uri.empty() && !auth.jwt_issuer.empty() && !is_url(auth.jwt_issuer)) {
    draft.problems.add(origin(draft, "auth.jwt_issuer") +
                       ": must begin with https:// or http://, so that its keys can be found; or "
                       "name their place with jwt_jwks_uri");
  }
  const std::string& keys = auth.jwt_jwks_uri.empty() ? auth.jwt_issuer : auth.jwt_jwks_uri;
  if (!auth.jwt_issuer.empty() && !auth.jwt_audience.empty() && keys.starts_with("http://")) {
    draft.config.warnings.push_back(
        "the keys of the tokens' issuer are fetched by http://: whoever is between can become "
        "administrator; use https://");
  }
}

}  // namespace

std::string key_problem(std::string_view key) {
  if (key.empty()) return "is empty";
  if (has_blank_end(key)) return "has blanks around it";
  return credential_problem(key);
}

std::optional<TenantKey> parse_tenant_key(std::string_view text, std::string& reason) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    reason = "has no colon; write it as tenant:key";
    return std::nullopt;
  }
  const TenantKey key{text.substr(0, colon), text.substr(colon + 1)};
  reason = name_problem("tenant", key.tenant);
  if (reason.empty() && !credential_problem(key.tenant).empty()) {
    reason = "has a tenant with blanks, control characters or some that are not ASCII";
  }
  if (reason.empty()) {
    if (const auto problem = key_problem(key.key); !problem.empty()) {
      reason = "has a key that " + problem;
    }
  }
  return reason.empty() ? std::optional(key) : std::nullopt;
}

std::optional<AdminKey> parse_admin_key(std::string_view text, std::string& reason) {
  std::string_view parts[3];
  for (auto& part : parts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
      reason = "has fewer than three colons; write it as id:name:role:key";
      return std::nullopt;
    }
    part = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const AdminKey key{parts[0], parts[1], parts[2] == "admin", text};
  reason = name_problem("id", key.id);
  if (reason.empty()) reason = name_problem("name", key.name);
  if (reason.empty() && !key.is_admin && parts[2] != "user") {
    reason = "has a role that is neither admin nor user";
  }
  if (reason.empty()) {
    if (const auto problem = key_problem(key.key); !problem.empty()) {
      reason = "has a key that " + problem;
    }
  }
  return reason.empty() ? std::optional(key) : std::nullopt;
}

void check_auth(Draft& draft) {
  check_serving_keys(draft);
  check_admin_keys(draft);
  check_jwt(draft);
}

}  // namespace smg
