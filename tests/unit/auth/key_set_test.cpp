#include <doctest/doctest.h>

#include "host/auth/jwk.hpp"
#include "signer.hpp"

using namespace smg;

namespace {

KeySet read(const std::string& keys) {
  std::string reason;
  auto set = parse_key_set(R"({"keys":[)" + keys + "]}", reason);
  REQUIRE(set);
  return std::move(*set);
}

std::string refusal(const std::string& document) {
  std::string reason;
  CHECK_FALSE(parse_key_set(document, reason));
  return reason;
}

}  // namespace

TEST_CASE("3.10.5 keys of the five algorithms are read") {
  const KeySet keys = read(test::rsa().jwk("a") + "," + test::p256().jwk("b") + "," +
                           test::p384().jwk("c", R"("use":"sig","key_ops":["verify"],)"));
  REQUIRE(keys.size() == 3);
  for (const char* alg : {"RS256", "RS384", "RS512"}) CHECK(keys[0].fits(alg));
  CHECK_FALSE(keys[0].fits("ES256"));
  CHECK(keys[1].alg == "ES256");
  CHECK(keys[2].alg == "ES384");
}

TEST_CASE("keys that cannot or must not verify are passed over, the others stay") {
  const std::string wrong[] = {
      test::rsa().jwk(""),
      test::rsa().jwk("a", R"("use":"enc",)"),
      test::rsa().jwk("a", R"("use":1,)"),
      test::rsa().jwk("a", R"("key_ops":["encrypt"],)"),
      test::rsa().jwk("a", R"("alg":"RS1",)"),
      test::rsa().jwk("a", R"("alg":"PS256",)"),
      test::rsa().jwk("a", R"("alg":"ES256",)"),
      test::rsa().jwk("a", R"("alg":"",)"),
      test::rsa().jwk("a", R"("alg":7,)"),
      test::p256().jwk("a", R"("alg":"ES384",)"),
      test::Signer("RSA", 1024).jwk("weak"),
      test::Signer("P-521").jwk("a"),
      R"({"kid":"a","kty":"oct","k":"AAAA"})",
      R"({"kid":"a","kty":"RSA"})",
      R"({"kid":"a","kty":"RSA","n":"AQAB","e":"AQAB"})",
      R"({"kid":"a","kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"})",
      R"({"kid":"a","kty":"OKP","crv":"Ed25519","x":"AAAA"})",
      // A point beside the curve.
      R"({"kid":"a","kty":"EC","crv":"P-256","x":")" + test::base64url(std::string(32, '\1')) +
          R"(","y":")" + test::base64url(std::string(32, '\1')) + "\"}",
      "7",
      "{}",
  };
  for (const auto& key : wrong) {
    CAPTURE(key);
    const KeySet keys = read(key + "," + test::p256().jwk("good"));
    REQUIRE(keys.size() == 1);
    CHECK(keys[0].kid == "good");
  }
}

TEST_CASE("an RSA key whose exponent makes every text a signature is passed over") {
  std::string key = test::rsa().jwk("a");
  const std::size_t at = key.find(R"("e":")");
  for (const char* exponent : {"AQ", "AA", "Ag", ""}) {
    const std::string bad = key.substr(0, at) + R"("e":")" + exponent + "\"}";
    CHECK(read(bad).empty());
  }
}

TEST_CASE("what is no key set is refused with a reason") {
  CHECK(refusal("") == "is not JSON");
  CHECK(refusal("<html>") == "is not JSON");
  CHECK(refusal("[]") == "is no JSON object");
  CHECK(refusal("{}") == "has no list of keys");
  CHECK(refusal(R"({"keys":{}})") == "has no list of keys");
  CHECK(refusal(R"({"keys":[],"keys":[]})") == "has a name twice");
  std::string many = "7";
  for (int i = 0; i < 100; ++i) many += ",7";
  CHECK(refusal(R"({"keys":[)" + many + "]}") == "has more than 100 keys");
}
