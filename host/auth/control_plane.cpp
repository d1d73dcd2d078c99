#include "host/auth/control_plane.hpp"

#include <utility>

#include "host/auth/admin_keys.hpp"
#include "host/auth/audit.hpp"
#include "host/auth/jwt.hpp"
#include "host/auth/token_desk.hpp"

namespace smg {
namespace {

constexpr std::string_view kChallenge = "Bearer realm=\"control-plane\"";

AdminVerdict passed(std::string principal, std::string_view method, std::string_view role) {
  AdminVerdict verdict;
  verdict.principal = std::move(principal);
  verdict.auth_method = method;
  verdict.role = role;
  return verdict;
}

AdminVerdict unauthorized(std::string text, std::string_view method) {
  AdminVerdict verdict;
  verdict.status = 401;
  if (!text.empty()) verdict.challenge = kChallenge;
  verdict.text = std::move(text);
  verdict.auth_method = method;
  return verdict;
}

AdminVerdict by_role(std::string principal, std::string_view method, bool is_admin) {
  AdminVerdict verdict = passed(std::move(principal), method, is_admin ? "admin" : "user");
  if (is_admin) return verdict;
  verdict.status = 403;
  verdict.text = "Admin role required for control plane access";
  return verdict;
}

}  // namespace

struct ControlPlane::Rules {
  explicit Rules(const Auth& auth)
      : keys(auth),
        guarded(!auth.control_plane_api_keys.empty() ||
                (!auth.jwt_issuer.empty() && !auth.jwt_audience.empty())),
        open(!guarded && auth.api_key.empty() && auth.tenant_api_keys.empty()),
        audit(!auth.disable_audit_logging) {}

  AdminVerdict check(std::string_view token) const {
    if (open) return passed({}, "none", {});
    if (!guarded) {
      return keys.is_shared(token) ? passed("shared", "shared_key", "admin")
                                   : unauthorized({}, "shared_key");
    }
    if (token.empty()) return unauthorized("Missing or invalid Authorization header", "none");
    if (const auto* owner = keys.find(token)) return by_role(owner->id, "api_key", owner->is_admin);
    const bool down = signer != nullptr && signer->jwks->is_down();
    if (down && keys.is_shared(token)) return passed("shared", "shared_key", "admin");
    return unauthorized("Invalid authentication token", "api_key");
  }

  AdminKeys keys;
  bool guarded;  // by more than the shared key
  bool open;
  bool audit;
  std::shared_ptr<const TokenSigner> signer;
};

class PendingVerdict : private smg_task {
 public:
  PendingVerdict(const AdminQuery& query, ControlPlane::Post post, ControlPlane::Done done)
      : smg_task{},
        method_(query.method),
        path_(query.path),
        resource_(query.resource),
        request_id_(query.request_id),
        post_(std::move(post)),
        done_(std::move(done)) {
    run = arrive;
  }

  AdminQuery query() const { return {{}, method_, path_, resource_, request_id_}; }
  // On the desk's thread; nothing of it is touched there afterwards.
  static void tell(const std::shared_ptr<PendingVerdict>& self, AdminVerdict verdict) {
    self->verdict_ = std::move(verdict);
    self->self_ = self;
    self->post_(self.get());
  }
  void forget() { done_ = nullptr; }

 private:
  static void arrive(smg_task* task) {
    const auto self = std::move(static_cast<PendingVerdict*>(task)->self_);
    const auto done = std::exchange(self->done_, nullptr);
    if (done) done(self->verdict_);
  }

  const std::string method_, path_, resource_, request_id_;
  const ControlPlane::Post post_;
  ControlPlane::Done done_;
  AdminVerdict verdict_;
  std::shared_ptr<PendingVerdict> self_;  // while it is on its way
};

ControlPlane::ControlPlane(const Auth& auth, Families& families)
    : families_(families),
      unauthorized_(families.auth_rejections.with({"admin", "401"})),
      forbidden_(families.auth_rejections.with({"admin", "403"})) {
  configure(auth);
}

ControlPlane::~ControlPlane() = default;

void ControlPlane::configure(const Auth& auth) {
  auto rules = std::make_shared<Rules>(auth);
  const std::lock_guard lock(mutex_);
  if (!auth.jwt_issuer.empty() && !auth.jwt_audience.empty()) {
    if (desk_ == nullptr) desk_ = std::make_unique<TokenDesk>();
    auto signer = std::make_shared<TokenSigner>();
    signer->rules = {auth.jwt_issuer, auth.jwt_audience, auth.jwt_role_claim,
                     auth.jwt_role_mapping};
    const Jwks::Source source{auth.jwt_issuer, auth.jwt_jwks_uri};
    const bool kept =
        rules_ != nullptr && rules_->signer != nullptr && rules_->signer->jwks->source() == source;
    signer->jwks = kept ? rules_->signer->jwks
                        : desk_->make_jwks(source, families_.jwks_refreshes.with({"success"}),
                                           families_.jwks_refreshes.with({"failure"}));
    rules->signer = signer;
    desk_->prepare(std::move(signer));
  }
  rules_ = std::move(rules);
}

std::optional<AdminVerdict> ControlPlane::check(const AdminQuery& query, const Post& post,
                                                Done done, Pending& pending) {
  std::shared_ptr<const Rules> rules;
  {
    const std::lock_guard lock(mutex_);
    rules = rules_;
  }
  const std::string_view token = bearer_token(query.authorization);
  if (rules->signer == nullptr || !looks_like_jwt(token)) {
    AdminVerdict verdict = rules->check(token);
    record(*rules, query, verdict);
    return verdict;
  }
  pending = std::make_shared<PendingVerdict>(query, post, std::move(done));
  desk_->verify(std::string(token), rules->signer,
                [this, rules, waiting = pending](TokenVerdict token_verdict) {
                  AdminVerdict verdict =
                      token_verdict.reason.empty()
                          ? by_role(std::move(token_verdict.principal), "jwt",
                                    token_verdict.is_admin)
                          : unauthorized("Invalid JWT: " + token_verdict.reason, "jwt");
                  record(*rules, waiting->query(), verdict);
                  PendingVerdict::tell(waiting, std::move(verdict));
                });
  return std::nullopt;
}

void ControlPlane::forget(Pending& pending) {
  if (pending != nullptr) pending->forget();
  pending.reset();
}

void ControlPlane::record(const Rules& rules, const AdminQuery& query,
                          const AdminVerdict& verdict) const {
  if (verdict.status == 401) unauthorized_.add();
  if (verdict.status == 403) forbidden_.add();
  // Where anybody may do anything there is nobody to name.
  if (!rules.audit || rules.open) return;
  write_audit({.principal = verdict.principal,
               .auth_method = verdict.auth_method,
               .role = verdict.role,
               .method = query.method,
               .path = query.path,
               .resource = query.resource,
               .success = verdict.pass(),
               .request_id = query.request_id,
               .details = verdict.text});
}

}  // namespace smg
