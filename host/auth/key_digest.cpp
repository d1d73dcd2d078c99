#include "host/auth/key_digest.hpp"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace smg {
namespace {

struct Free {
  void operator()(EVP_MD* md) const { EVP_MD_free(md); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Found once: a look-up of the algorithm costs more than a digest.
const EVP_MD* sha256() {
  static const std::unique_ptr<EVP_MD, Free> found(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  return found.get();
}

}  // namespace

KeyDigest digest_of(std::string_view key) {
  thread_local const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  KeyDigest digest;
  unsigned size = 0;
  if (context == nullptr || EVP_DigestInit_ex2(context.get(), sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), key.data(), key.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1 || size != digest.size()) {
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }
  return digest;
}

std::string digest_name(const KeyDigest& digest) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string name;
  for (std::size_t i = 0; i < digest.size() / 2; ++i) {
    name += kHex[digest[i] >> 4];
    name += kHex[digest[i] & 15];
  }
  return name;
}

}  // namespace smg
