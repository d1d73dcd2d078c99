#include "host/auth/jwks.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "host/auth/strict_json.hpp"
#include "host/config/document.hpp"

namespace smg {

void Jwks::find(std::string kid, std::string alg, Found found) {
  Waiter waiter{std::move(kid), std::move(alg), std::move(found)};
  const auto is_fresh = [&] { return keys_ && hooks_.now() - fetched_ < kFresh; };
  if (fetch_.expired() && !(is_fresh() && has(waiter.kid)) && may_fetch()) fetch();
  const Waiters waiters = fetch_.lock();
  // While the issuer does not answer, nobody waits for it who can do without.
  const bool usable = has(waiter.kid) && (is_fresh() || !failure_.empty());
  if (usable || waiters == nullptr) return answer(waiter);
  waiters->push_back(std::move(waiter));
}

void Jwks::prepare() {
  if (!keys_ && fetch_.expired() && may_fetch()) fetch();
}

bool Jwks::has(std::string_view kid) const {
  return keys_ && std::any_of(keys_->begin(), keys_->end(),
                              [&](const PublicKey& key) { return key.kid == kid; });
}

const PublicKey* Jwks::look_up(std::string_view kid, std::string_view alg) const {
  if (!keys_) return nullptr;
  const PublicKey* found = nullptr;
  for (const auto& key : *keys_) {
    if (key.kid != kid) continue;
    if (key.fits(alg)) return &key;
    found = &key;
  }
  return found;
}

void Jwks::answer(const Waiter& waiter) const {
  if (!keys_) return waiter.found(nullptr, "the keys of the issuer cannot be had at the moment");
  const PublicKey* key = look_up(waiter.kid, waiter.alg);
  if (key == nullptr) return waiter.found(nullptr, "the issuer has no key with this kid");
  if (!key->fits(waiter.alg)) return waiter.found(nullptr, "alg is not that of the key");
  waiter.found(key, {});
}

bool Jwks::may_fetch() const {
  return !tried_ || hooks_.now() - *tried_ >= kPause;
}

void Jwks::fetch() {
  const Waiters waiters = std::make_shared<std::vector<Waiter>>();
  fetch_ = waiters;
  tried_ = hooks_.now();
  const auto self = shared_from_this();
  if (!source_.uri.empty()) {
    hooks_.fetch(source_.uri,
                 [self, waiters](const Document& document) { self->received(document, waiters); });
    return;
  }
  std::string url = source_.issuer;
  while (url.ends_with('/')) url.pop_back();
  url += "/.well-known/openid-configuration";
  hooks_.fetch(url,
               [self, waiters](const Document& document) { self->discovered(document, waiters); });
}

void Jwks::discovered(const Document& document, const Waiters& waiters) {
  if (!document.error.empty()) return fail(document.error, waiters);
  std::string reason;
  const auto object = parse_strict_object(document.body, reason);
  if (!object) return fail("what it says of itself " + reason, waiters);
  const auto* issuer = text_member(*object, "issuer");
  if (issuer == nullptr || std::string_view(issuer->data(), issuer->size()) != source_.issuer) {
    return fail("it calls itself '" +
                    (issuer == nullptr ? "" : printable_text({issuer->data(), issuer->size()})) +
                    "', which is not jwt_issuer to the letter",
                waiters);
  }
  const auto* uri = text_member(*object, "jwks_uri");
  const std::string where = uri == nullptr ? std::string() : std::string(uri->data(), uri->size());
  const bool safe = where.starts_with("https://");
  if (!safe && !where.starts_with("http://")) return fail("it names no jwks_uri", waiters);
  if (!safe && source_.issuer.starts_with("https://")) {
    return fail("its jwks_uri is not https://, which the issuer is", waiters);
  }
  hooks_.fetch(where, [self = shared_from_this(), waiters](const Document& keys) {
    self->received(keys, waiters);
  });
}

void Jwks::received(const Document& document, const Waiters& waiters) {
  if (!document.error.empty()) return fail(document.error, waiters);
  std::string reason;
  auto keys = parse_key_set(document.body, reason);
  if (!keys) return fail("its key set " + reason, waiters);
  if (keys->empty()) {
    spdlog::warn("the key set of {} has no key that can verify a token", source_.issuer);
  }
  if (!keys_ || !failure_.empty()) {
    spdlog::info("{} keys of {} are there", keys->size(), source_.issuer);
  }
  keys_ = std::move(keys);
  fetched_ = *tried_;
  failure_.clear();
  down_.store(false, std::memory_order_relaxed);
  hooks_.succeeded.add();
  settle(waiters);
}

void Jwks::fail(std::string reason, const Waiters& waiters) {
  failure_ = std::move(reason);
  hooks_.failed.add();
  if (keys_) {
    spdlog::warn("the keys of {} cannot be had: {}; those that are there stay in use",
                 source_.issuer, failure_);
  } else {
    down_.store(true, std::memory_order_relaxed);
    spdlog::error(
        "the keys of {} cannot be had: {}; no token is accepted until they are, and admin routes "
        "take auth.api_key, if there is one",
        source_.issuer, failure_);
  }
  settle(waiters);
}

void Jwks::settle(const Waiters& waiters) {
  fetch_.reset();
  for (const auto& waiter : std::exchange(*waiters, {})) answer(waiter);
}

}  // namespace smg
