// Rows of [auth] and [tls].
#include "host/config/settings_rows.hpp"

namespace smg::rows {

void add_security_rows(Table& table) {
  const auto add = [&](Setting setting) { table.push_back(std::move(setting)); };
  add(checked(secret(row("auth", "api_key", "api-key", SMG_AT(auth.api_key),
                         "the key that clients must show, for workers as well")),
              check_not_empty));
  add(secret(row("auth", "tenant_api_keys", "tenant-api-key", SMG_AT(auth.tenant_api_keys),
                 "keys of tenants, each as tenant:key")));
  add(env(secret(row("auth", "control_plane_api_keys", "control-plane-api-keys",
                     SMG_AT(auth.control_plane_api_keys),
                     "keys for admin routes, each as id:name:role:key")),
          "CONTROL_PLANE_API_KEYS"));
  add(row("auth", "trust_tenant_header", "trust-tenant-header", SMG_AT(auth.trust_tenant_header),
          "believe the tenant that a header names where no key tells it"));
  add(checked(row("auth", "tenant_header_name", "tenant-header-name",
                  SMG_AT(auth.tenant_header_name), "that header"),
              check_header_name));
  add(env(row("auth", "jwt_issuer", "jwt-issuer", SMG_AT(auth.jwt_issuer),
              "who signs the tokens for admin routes"),
          "JWT_ISSUER"));
  add(env(row("auth", "jwt_audience", "jwt-audience", SMG_AT(auth.jwt_audience),
              "whom they are made for"),
          "JWT_AUDIENCE"));
  add(env(row("auth", "jwt_jwks_uri", "jwt-jwks-uri", SMG_AT(auth.jwt_jwks_uri),
              "where the signer's keys are; unset: ask the issuer"),
          "JWT_JWKS_URI"));
  add(checked(row("auth", "jwt_role_claim", "jwt-role-claim", SMG_AT(auth.jwt_role_claim),
                  "the claim that has the roles"),
              check_not_empty));
  add(checked(row("auth", "jwt_role_mapping", "jwt-role-mapping", SMG_AT(auth.jwt_role_mapping),
                  "roles of the signer and what they are here: theirs=admin or theirs=user"),
              check_roles));
  add(row("auth", "disable_audit_logging", "disable-audit-logging",
          SMG_AT(auth.disable_audit_logging), "no record of who used admin routes"));
  add(row("tls", "cert_path", "tls-cert-path", SMG_AT(tls.cert_path),
          "PEM file with the listener's certificate chain"));
  add(row("tls", "key_path", "tls-key-path", SMG_AT(tls.key_path), "PEM file with its key"));
  add(row("tls", "client_ca_path", "tls-client-ca-path", SMG_AT(tls.client_ca_path),
          "PEM file; admin routes then need a client certificate signed by one of it"));
}

}  // namespace smg::rows
