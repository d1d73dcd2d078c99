// Tokens that are forged, expired or made wrongly, and what each is told. Keys and signatures are
// real ones, made for the run.
#include <doctest/doctest.h>

#include <vector>

#include "host/auth/jwt.hpp"
#include "host/auth/token_desk.hpp"
#include "signer.hpp"

using namespace smg;
using test::base64url;

namespace {

constexpr double kNow = 1'800'000'000;
const std::string kGood =
    R"({"iss":"https://idp","aud":"smg","sub":"alice","roles":["admin"],"exp":1800000300})";

// The keys of the issuer: one of each kind, and some that are no use.
std::string key_set() {
  return R"({"keys":[)" + test::rsa().jwk("rsa", R"("alg":"RS256","use":"sig",)") + "," +
         test::rsa().jwk("any") + "," + test::rsa().jwk("rsa512", R"("alg":"RS512",)") + "," +
         test::p256().jwk("p256", R"("alg":"ES256",)") + "," + test::p384().jwk("p384") + "," +
         test::rsa().jwk("enc", R"("use":"enc",)") + "," +
         R"({"kid":"oct","kty":"oct","alg":"HS256","k":"c2VjcmV0"}]})";
}

TokenVerdict verify(const std::string& token) {
  const auto signer = std::make_shared<TokenSigner>();
  signer->rules = {"https://idp", "smg", "roles", {}};
  Jwks::Hooks hooks;
  hooks.fetch = [](const std::string&, const auto& done) { done({key_set(), {}}); };
  hooks.now = [] { return std::uint64_t{0}; };
  signer->jwks = std::make_shared<Jwks>(Jwks::Source{"https://idp", "https://idp/keys"}, hooks);
  std::optional<TokenVerdict> verdict;
  verify_token(
      token, signer, [] { return kNow; },
      [&](TokenVerdict told) {
        REQUIRE_FALSE(verdict);
        verdict = std::move(told);
      });
  REQUIRE(verdict);
  return *verdict;
}

std::string with(const std::string& from, const std::string& to) {
  std::string claims = kGood;
  return claims.replace(claims.find(from), from.size(), to);
}

std::string signed_by_rsa(const std::string& claims) {
  return test::rsa().token("RS256", "rsa", claims);
}
std::string with_header(const std::string& header) {
  return test::rsa().token_with(header, kGood, "RS256");
}

// The token with one character of a part replaced.
std::string bent(std::string token, std::size_t part) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < part; ++i) at = token.find('.', at) + 1;
  token[at + 10] = token[at + 10] == 'A' ? 'B' : 'A';
  return token;
}

const std::string kNoBase64 = "is not base64url";

}  // namespace

TEST_CASE("3.10.5 tokens by each algorithm and key that fit are accepted") {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"RS256", test::rsa().token("RS256", "rsa", kGood)},
      {"RS256, key of any", test::rsa().token("RS256", "any", kGood)},
      {"RS384, key of any", test::rsa().token("RS384", "any", kGood)},
      {"RS512", test::rsa().token("RS512", "rsa512", kGood)},
      {"ES256", test::p256().token("ES256", "p256", kGood)},
      {"ES384", test::p384().token("ES384", "p384", kGood)},
      {"no typ", with_header(R"({"alg":"RS256","kid":"rsa"})")},
      {"headers that do not matter",
       with_header(R"({"alg":"RS256","kid":"rsa","jku":"http://evil","jwk":{},"x5u":"x"})")},
      {"list of audiences", signed_by_rsa(with(R"("smg")", R"(["a","smg"])"))},
      {"expired 29 s ago", signed_by_rsa(with("1800000300", "1799999971"))},
  };
  for (const auto& [name, token] : good) {
    CAPTURE(name);
    const TokenVerdict verdict = verify(token);
    CHECK(verdict.reason == "");
    CHECK(verdict.principal == "alice");
    CHECK(verdict.is_admin);
  }
}

TEST_CASE("3.10.5 forged, expired and ill-made tokens are refused, each with its reason") {
  struct Case {
    std::string name, token, reason;
  };
  const std::string rs256 = R"({"alg":"RS256","kid":"rsa"})";
  const std::string head = base64url(rs256);
  const std::string body = base64url(kGood);
  const std::string good = signed_by_rsa(kGood);
  const std::string signature = good.substr(good.rfind('.') + 1);
  const std::string only = "; it must be RS256, RS384, RS512, ES256 or ES384";
  const auto hmac = [&](const std::string& header, const std::string& key) {
    const std::string text = base64url(header) + "." + body;
    return text + "." + base64url(test::hmac_sha256(key, text));
  };
  const std::string es256 = test::p256().token("ES256", "p256", kGood);
  const std::string es_text = es256.substr(0, es256.rfind('.') + 1);
  const Case cases[] = {
      // No signature, or not that of the issuer.
      {"alg none", base64url(R"({"alg":"none","kid":"rsa"})") + "." + body + ".",
       "alg 'none' is not accepted" + only},
      {"alg None, signed", with_header(R"({"alg":"None","kid":"rsa"})"),
       "alg 'None' is not accepted" + only},
      {"no signature", head + "." + body + ".", "the token has no signature"},
      {"signature of another token",
       head + "." + base64url(with("alice", "mallory")) + "." + signature,
       "the signature is wrong"},
      {"payload bent", bent(good, 1), "the payload is not JSON"},
      {"signature bent", bent(good, 2), "the signature is wrong"},
      {"signature cut", good.substr(0, good.size() - 4), "the signature is wrong"},
      {"signature of zeros", head + "." + body + "." + base64url(std::string(256, '\0')),
       "the signature is wrong"},
      {"signed by a stranger", test::stranger().token("RS256", "rsa", kGood),
       "the signature is wrong"},
      {"ES256 of zeros", es_text + base64url(std::string(64, '\0')), "the signature is wrong"},
      {"ES256 of ones", es_text + base64url(std::string(64, '\xff')), "the signature is wrong"},
      {"ES256 too short", es_text + base64url(std::string(63, '\1')), "the signature is wrong"},
      {"ES256 as DER", es_text + base64url("\x30\x06\x02\x01\x01\x02\x01\x01"),
       "the signature is wrong"},
      // One algorithm taken for another.
      {"HS256 with the public key as secret",
       hmac(R"({"alg":"HS256","kid":"rsa"})", test::rsa().public_pem()),
       "alg 'HS256' is not accepted" + only},
      {"HS256 with the oct key of the set", hmac(R"({"alg":"HS256","kid":"oct"})", "secret"),
       "alg 'HS256' is not accepted" + only},
      {"RS256 header, HMAC signature", hmac(rs256, test::rsa().public_pem()),
       "the signature is wrong"},
      {"PS256", with_header(R"({"alg":"PS256","kid":"rsa"})"),
       "alg 'PS256' is not accepted" + only},
      {"ES512", with_header(R"({"alg":"ES512","kid":"rsa"})"),
       "alg 'ES512' is not accepted" + only},
      {"rs256 in lower case", with_header(R"({"alg":"rs256","kid":"rsa"})"),
       "alg 'rs256' is not accepted" + only},
      {"RS384 by a key for RS256", test::rsa().token("RS384", "rsa", kGood),
       "alg is not that of the key"},
      {"RS256 by a key for RS512", test::rsa().token("RS256", "rsa512", kGood),
       "alg is not that of the key"},
      {"ES256 by an RSA key", test::p256().token("ES256", "rsa", kGood),
       "alg is not that of the key"},
      {"RS256 by an EC key", test::rsa().token("RS256", "p256", kGood),
       "alg is not that of the key"},
      {"ES384 by a P-256 key", test::p384().token("ES384", "p256", kGood),
       "alg is not that of the key"},
      {"signed RS512, says RS256", test::rsa().token_with(rs256, kGood, "RS512"),
       "the signature is wrong"},
      // The key.
      {"no kid", with_header(R"({"alg":"RS256"})"), "the header has no kid"},
      {"empty kid", with_header(R"({"alg":"RS256","kid":""})"), "the header has no kid"},
      {"kid is a number", with_header(R"({"alg":"RS256","kid":1})"), "the header has no kid"},
      {"unknown kid", test::rsa().token("RS256", "other", kGood),
       "the issuer has no key with this kid"},
      {"kid of a key for encryption", test::rsa().token("RS256", "enc", kGood),
       "the issuer has no key with this kid"},
      {"kid as a path", test::rsa().token("RS256", "../../etc/passwd", kGood),
       "the issuer has no key with this kid"},
      {"a key of its own in jwk",
       test::stranger().token_with(
           R"({"alg":"RS256","kid":"mine","jwk":)" + test::stranger().jwk("mine") + "}", kGood,
           "RS256"),
       "the issuer has no key with this kid"},
      // The header.
      {"crit", with_header(R"({"alg":"RS256","kid":"rsa","crit":["exp"],"exp":1})"),
       "the header has crit, which is not supported"},
      {"empty crit", with_header(R"({"alg":"RS256","kid":"rsa","crit":[]})"),
       "the header has crit, which is not supported"},
      {"no alg", with_header(R"({"kid":"rsa"})"), "the header has no alg"},
      {"alg is null", with_header(R"({"alg":null,"kid":"rsa"})"), "the header has no alg"},
      {"alg twice", with_header(R"({"alg":"none","alg":"RS256","kid":"rsa"})"),
       "the header has a name twice"},
      {"kid twice, once escaped", with_header(R"({"alg":"RS256","kid":"x","k\u0069d":"rsa"})"),
       "the header has a name twice"},
      {"header is an array", with_header(R"(["RS256"])"), "the header is no JSON object"},
      {"header with something behind", with_header(rs256 + "x"), "the header is not JSON"},
      {"header is empty", "." + body + "." + signature, "the header is not JSON"},
      // The claims.
      {"expired", signed_by_rsa(with("1800000300", "1799999969")), "the token has expired"},
      {"expired long ago", signed_by_rsa(with("1800000300", "0")), "the token has expired"},
      {"expires before time began", signed_by_rsa(with("1800000300", "-1e300")),
       "the token has expired"},
      {"no exp", signed_by_rsa(with(R"(,"exp":1800000300)", "")), "the token has no exp"},
      {"exp is text", signed_by_rsa(with("1800000300", R"("1800000300")")), "exp is no time"},
      {"exp is null", signed_by_rsa(with("1800000300", "null")), "exp is no time"},
      {"exp is endless", signed_by_rsa(with("1800000300", "1e999")), "the payload is not JSON"},
      {"exp twice", signed_by_rsa(with(R"("exp")", R"("exp":1,"exp")")),
       "the payload has a name twice"},
      {"not valid yet", signed_by_rsa(with(R"("exp")", R"("nbf":1800000031,"exp")")),
       "the token is not valid yet"},
      {"nbf is text", signed_by_rsa(with(R"("exp")", R"("nbf":"0","exp")")), "nbf is no time"},
      {"issued in the future", signed_by_rsa(with(R"("exp")", R"("iat":1800000031,"exp")")),
       "the token was issued in the future"},
      {"iat is a list", signed_by_rsa(with(R"("exp")", R"("iat":[],"exp")")), "iat is no time"},
      {"another issuer", signed_by_rsa(with("https://idp", "https://evil")),
       "the issuer is another"},
      {"issuer with a slash more", signed_by_rsa(with("https://idp", "https://idp/")),
       "the issuer is another"},
      {"no issuer", signed_by_rsa(with(R"("iss":"https://idp",)", "")), "the issuer is another"},
      {"issuer in a list", signed_by_rsa(with(R"("https://idp")", R"(["https://idp"])")),
       "the issuer is another"},
      {"issuer twice", signed_by_rsa(with(R"("aud")", R"("iss":"https://idp","aud")")),
       "the payload has a name twice"},
      {"another audience", signed_by_rsa(with(R"("smg")", R"("billing")")),
       "the audience is another"},
      {"no audience", signed_by_rsa(with(R"("aud":"smg",)", "")), "the audience is another"},
      {"audience within another", signed_by_rsa(with(R"("smg")", R"("xsmgx")")),
       "the audience is another"},
      {"claims in an array", signed_by_rsa("[" + kGood + "]"), "the payload is no JSON object"},
      {"claims are a string", signed_by_rsa("\"admin\""), "the payload is no JSON object"},
      {"claims are nothing", signed_by_rsa(""), "the payload is not JSON"},
      {"claims are not UTF-8", signed_by_rsa(with("alice", "\xff\xfe")), "the payload is not JSON"},
      {"claims nested without end",
       signed_by_rsa(with("\"alice\"", std::string(3000, '[') + std::string(3000, ']'))),
       "the payload is not JSON"},
      // The text.
      {"padding", head + "=." + body + "." + signature, "the header " + kNoBase64},
      {"base64 of the other kind", head + "." + body + "." + "+/+/", "the signature " + kNoBase64},
      {"a blank", head + "." + body + " ." + signature, "the payload " + kNoBase64},
      {"a zero byte", head + "." + body + std::string(1, '\0') + "." + signature,
       "the payload " + kNoBase64},
      {"stray bits", head.substr(0, head.size() - 1) + "1." + body + "." + signature,
       "the header " + kNoBase64},
      {"dots only", "..", "the header is not JSON"},
      {"two parts", head + "." + body, "the token does not have three parts"},
      {"five parts, an encrypted token", "a.b.c.d.e", "the token does not have three parts"},
      {"huge", head + "." + std::string(20'000, 'A') + "." + signature,
       "the token has more than 16384 characters"},
  };
  for (const auto& [name, token, reason] : cases) {
    CAPTURE(name);
    const TokenVerdict verdict = verify(token);
    CHECK(verdict.reason == reason);
    CHECK_FALSE(verdict.is_admin);
    CHECK(verdict.principal.empty());
  }
}

TEST_CASE("a reason tells no more of a token than its alg, made printable") {
  const TokenVerdict verdict =
      verify(with_header(R"({"alg":"\n\u001b[31m)" + std::string(500, 'x') + R"(","kid":"rsa"})"));
  CHECK(verdict.reason.find('\n') == std::string::npos);
  CHECK(verdict.reason.find('\x1b') == std::string::npos);
  CHECK(verdict.reason.size() < 200);
}
