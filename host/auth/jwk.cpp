#include "host/auth/jwk.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "host/auth/base64url.hpp"
#include "host/auth/jwt.hpp"
#include "host/auth/strict_json.hpp"

namespace smg {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostKeys = 100;

struct Free {
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Owned<BIGNUM> number(std::string_view text) {
  return Owned<BIGNUM>(BN_bin2bn(bytes(text), static_cast<int>(text.size()), nullptr));
}

std::string_view member(const json::object& key, std::string_view name) {
  const json::string* value = text_member(key, name);
  return value == nullptr ? std::string_view{} : std::string_view(value->data(), value->size());
}

std::shared_ptr<EVP_PKEY> build(const char* type, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return {key, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> rsa_key(const json::object& key) {
  constexpr std::size_t kMostOfNumber = 1025;  // 8192 bits
  const auto modulus = decode_base64url(member(key, "n"));
  const auto exponent = decode_base64url(member(key, "e"));
  if (!modulus || modulus->size() > kMostOfNumber) return nullptr;
  if (!exponent || exponent->empty() || exponent->size() > 8) return nullptr;
  const Owned<BIGNUM> n = number(*modulus);
  const Owned<BIGNUM> e = number(*exponent);
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr) return nullptr;
  if (BN_num_bits(n.get()) < 2048 || BN_num_bits(n.get()) > 8192) return nullptr;
  // An exponent of 1 would make every text its own signature.
  if (!BN_is_odd(e.get()) || BN_is_one(e.get())) return nullptr;
  if (OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  return build("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> ec_key(const json::object& key, const char* group, std::size_t size) {
  const auto x = decode_base64url(member(key, "x"));
  const auto y = decode_base64url(member(key, "y"));
  if (!x || !y || x->size() != size || y->size() != size) return nullptr;
  const std::string point = "\x04" + *x + *y;
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return nullptr;
  }
  return build("EC", builder.get());
}

// It is not made for something else than verifying signatures.
bool is_for_signatures(const json::object& key) {
  if (key.contains("use") && member(key, "use") != "sig") return false;
  const auto* operations = key.if_contains("key_ops");
  if (operations == nullptr) return true;
  const auto* list = operations->if_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), [](const json::value& item) {
           return item.is_string() && item.get_string() == "verify";
         });
}

std::optional<PublicKey> read_key(const json::object& object) {
  PublicKey key{std::string(member(object, "kid")), std::string(member(object, "alg")), nullptr};
  const bool names_alg = object.contains("alg");
  if (key.kid.empty() || !is_for_signatures(object)) return std::nullopt;
  const std::string_view type = member(object, "kty");
  const std::string_view curve = member(object, "crv");
  if (type == "RSA") {
    if (names_alg && !(is_known_alg(key.alg) && key.alg.starts_with("RS"))) return std::nullopt;
    key.key = rsa_key(object);
  } else if (type == "EC" && (curve == "P-256" || curve == "P-384")) {
    const std::string alg = curve == "P-256" ? "ES256" : "ES384";
    if (names_alg && key.alg != alg) return std::nullopt;
    key.alg = alg;
    key.key = curve == "P-256" ? ec_key(object, "P-256", 32) : ec_key(object, "P-384", 48);
  }
  ERR_clear_error();
  if (key.key == nullptr) return std::nullopt;
  return key;
}

// A JWS has the two numbers of the signature behind one another, OpenSSL wants them as DER.
std::string to_der(std::string_view signature, std::size_t size) {
  if (signature.size() != 2 * size) return {};
  Owned<BIGNUM> r = number(signature.substr(0, size));
  Owned<BIGNUM> s = number(signature.substr(size));
  const Owned<ECDSA_SIG> pair(ECDSA_SIG_new());
  if (r == nullptr || s == nullptr || pair == nullptr ||
      ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) {
    return {};
  }
  static_cast<void>(r.release());
  static_cast<void>(s.release());
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(pair.get(), &der);
  if (length <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length));
  OPENSSL_free(der);
  return out;
}

}  // namespace

std::optional<KeySet> parse_key_set(std::string_view document, std::string& reason) {
  const auto object = parse_strict_object(document, reason);
  if (!object) return std::nullopt;
  const auto* keys = object->if_contains("keys");
  if (keys == nullptr || !keys->is_array()) {
    reason = "has no list of keys";
    return std::nullopt;
  }
  if (keys->get_array().size() > kMostKeys) {
    reason = "has more than " + std::to_string(kMostKeys) + " keys";
    return std::nullopt;
  }
  KeySet set;
  for (const auto& item : keys->get_array()) {
    const auto* one = item.if_object();
    if (one == nullptr) continue;
    if (auto key = read_key(*one)) set.push_back(std::move(*key));
  }
  return set;
}

bool verify_signature(const PublicKey& key, std::string_view alg, std::string_view signed_part,
                      std::string_view signature) {
  std::string der;
  if (alg.starts_with("ES")) {
    der = to_der(signature, alg == "ES256" ? 32 : 48);
    signature = der;
  }
  const EVP_MD* digest = alg.ends_with("256")   ? EVP_sha256()
                         : alg.ends_with("384") ? EVP_sha384()
                                                : EVP_sha512();
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool good =
      !signature.empty() && context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.key.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(signed_part),
                       signed_part.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace smg
