#include "signer.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <stdexcept>
#include <vector>

namespace smg::test {
namespace {

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string fixed(const BIGNUM* number, std::size_t size) {
  std::string out(size, '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(size));
  return out;
}

std::string parameter(const EVP_PKEY* key, const char* name, std::size_t size = 0) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) throw std::runtime_error("no parameter");
  std::string out =
      fixed(number, size != 0 ? size : static_cast<std::size_t>(BN_num_bytes(number)));
  BN_free(number);
  return out;
}

const EVP_MD* digest(std::string_view alg) {
  return alg.ends_with("384") ? EVP_sha384() : alg.ends_with("512") ? EVP_sha512() : EVP_sha256();
}

}  // namespace

Signer::Signer(std::string_view type, unsigned bits)
    : key_(type == "RSA" ? EVP_RSA_gen(bits) : EVP_EC_gen(std::string(type).c_str()),
           EVP_PKEY_free),
      is_rsa_(type == "RSA") {
  if (key_ == nullptr) throw std::runtime_error("no key");
}

std::string Signer::jwk(std::string_view kid, std::string_view more) const {
  std::string out = R"({"kid":")" + std::string(kid) + R"(",)" + std::string(more);
  if (is_rsa_) {
    return out + R"("kty":"RSA","n":")" + base64url(parameter(key_.get(), "n")) + R"(","e":")" +
           base64url(parameter(key_.get(), "e")) + "\"}";
  }
  const std::size_t size = EVP_PKEY_get_bits(key_.get()) == 256 ? 32 : 48;
  return out + R"("kty":"EC","crv":")" + (size == 32 ? "P-256" : "P-384") + R"(","x":")" +
         base64url(parameter(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, size)) + R"(","y":")" +
         base64url(parameter(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, size)) + "\"}";
}

std::string Signer::sign(std::string_view alg, std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  std::size_t size = 2048;
  std::string out(size, '\0');
  auto* place = reinterpret_cast<unsigned char*>(out.data());
  if (EVP_DigestSignInit(context.get(), nullptr, digest(alg), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), place, &size, bytes(text), text.size()) != 1) {
    throw std::runtime_error("no signature");
  }
  out.resize(size);
  if (is_rsa_) return out;
  const unsigned char* der = bytes(out);
  ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(out.size()));
  const std::size_t half = EVP_PKEY_get_bits(key_.get()) == 256 ? 32 : 48;
  out = fixed(ECDSA_SIG_get0_r(pair), half) + fixed(ECDSA_SIG_get0_s(pair), half);
  ECDSA_SIG_free(pair);
  return out;
}

std::string Signer::token_with(std::string_view header, std::string_view claims,
                               std::string_view alg) const {
  const std::string text = base64url(header) + "." + base64url(claims);
  return text + "." + base64url(sign(alg, text));
}

std::string Signer::token(std::string_view alg, std::string_view kid,
                          std::string_view claims) const {
  return token_with(
      R"({"alg":")" + std::string(alg) + R"(","typ":"JWT","kid":")" + std::string(kid) + "\"}",
      claims, alg);
}

std::string Signer::public_pem() const {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(memory, key_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return out;
}

const Signer& rsa() {
  static const Signer signer("RSA");
  return signer;
}

const Signer& p256() {
  static const Signer signer("P-256");
  return signer;
}

const Signer& p384() {
  static const Signer signer("P-384");
  return signer;
}

const Signer& stranger() {
  static const Signer signer("RSA");
  return signer;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string out(32, '\0');
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(text), text.size(),
       reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

}  // namespace smg::test
