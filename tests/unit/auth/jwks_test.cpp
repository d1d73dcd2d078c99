// The keys of an issuer on a virtual clock, with an issuer that answers when the test says so.
#include "host/auth/jwks.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "host/metrics/families.hpp"
#include "signer.hpp"

using namespace smg;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Bench {
  Bench() { start({"https://idp", "https://idp/keys"}); }

  void start(Jwks::Source source) {
    Jwks::Hooks hooks;
    hooks.fetch = [this](const std::string& url, std::function<void(Document)> done) {
      asked.push_back(url);
      waiting.push_back(std::move(done));
    };
    hooks.now = [this] { return now; };
    hooks.succeeded = families.jwks_refreshes.with({"success"});
    hooks.failed = families.jwks_refreshes.with({"failure"});
    jwks = std::make_shared<Jwks>(std::move(source), std::move(hooks));
  }
  // The answers come into `told`: the kid, or the reason.
  void find(const std::string& kid) {
    jwks->find(kid, "ES256", [this](const PublicKey* key, std::string_view reason) {
      told.push_back(key == nullptr ? std::string(reason) : key->kid);
    });
  }
  void answer(Document document) {
    REQUIRE_FALSE(waiting.empty());
    const auto done = std::move(waiting.front());
    waiting.pop_front();
    done(std::move(document));
  }
  void answer_keys(std::initializer_list<std::string> kids) {
    std::string keys;
    for (const auto& kid : kids) keys += (keys.empty() ? "" : ",") + test::p256().jwk(kid);
    answer({R"({"keys":[)" + keys + "]}", {}});
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }
  double count(std::string_view result) { return families.jwks_refreshes.with({result}).value(); }

  using Told = std::vector<std::string>;
  const std::string unknown = "the issuer has no key with this kid";
  const std::string nothing = "the keys of the issuer cannot be had at the moment";
  Metrics metrics{{.loops = 1}};
  Families families{metrics};
  std::uint64_t now = 1'000 * kSecond;
  std::vector<std::string> asked;
  std::deque<std::function<void(Document)>> waiting;
  std::shared_ptr<Jwks> jwks;
  std::vector<std::string> told;
};

}  // namespace

TEST_CASE_FIXTURE(Bench, "callers that come while the keys are fetched wait for the same fetch") {
  find("a");
  find("b");
  find("c");
  CHECK(asked == Told{"https://idp/keys"});
  CHECK(take().empty());
  answer_keys({"a", "b"});
  CHECK(take() == Told{"a", "b", unknown});
  CHECK(count("success") == 1);
}

TEST_CASE_FIXTURE(Bench, "3.10.5 keys are kept for 3600 s") {
  find("a");
  answer_keys({"a"});
  take();
  now += 3'599 * kSecond;
  find("a");
  CHECK(take() == Told{"a"});
  CHECK(asked.size() == 1);
  now += kSecond;
  find("a");
  CHECK(take().empty());
  CHECK(asked.size() == 2);
  answer_keys({"b"});
  CHECK(take() == Told{unknown});
}

TEST_CASE_FIXTURE(Bench,
                  "an unknown key is looked for once, and again after 10 s at the earliest") {
  find("a");
  answer_keys({"a"});
  take();
  now += 10 * kSecond;
  find("new");
  CHECK(asked.size() == 2);
  find("a");
  CHECK(take() == Told{"a"});  // a known one does not wait
  answer_keys({"a", "new"});
  CHECK(take() == Told{"new"});
  for (int i = 0; i < 1000; ++i) find("forged" + std::to_string(i));
  CHECK(asked.size() == 2);
  CHECK(take() == Told(1000, unknown));
  now += 10 * kSecond - 1;
  find("forged");
  CHECK(asked.size() == 2);
  now += 1;
  find("forged");
  CHECK(asked.size() == 3);
}

TEST_CASE_FIXTURE(Bench, "an issuer that cannot be reached leaves the keys that are there in use") {
  find("a");
  answer_keys({"a"});
  take();
  now += 4'000 * kSecond;
  find("a");
  answer({{}, "no route"});
  CHECK(take() == Told{"a"});
  CHECK(count("failure") == 1);
  CHECK_FALSE(jwks->is_down());
  // While it stays away nobody waits for it.
  now += 10 * kSecond;
  find("a");
  CHECK(asked.size() == 3);
  CHECK(take() == Told{"a"});
  now += 100'000 * kSecond;
  answer({{}, "no route"});
  find("a");
  CHECK(take() == Told{"a"});
  find("b");
  CHECK(take().empty());
  answer_keys({"b"});
  CHECK(take() == Told{"b"});
  find("a");
  CHECK(take() == Told{unknown});
}

TEST_CASE_FIXTURE(Bench, "3.10.6 an issuer that was never reached is down, until it is") {
  CHECK_FALSE(jwks->is_down());
  jwks->prepare();
  jwks->prepare();
  CHECK(asked.size() == 1);
  CHECK_FALSE(jwks->is_down());
  answer({{}, "refused"});
  CHECK(jwks->is_down());
  find("a");
  CHECK(take() == Told{nothing});
  now += 10 * kSecond;
  find("a");
  answer_keys({"a"});
  CHECK(take() == Told{"a"});
  CHECK_FALSE(jwks->is_down());
  now += 4'000 * kSecond;
  find("a");
  answer({{}, "refused"});
  CHECK_FALSE(jwks->is_down());
}

TEST_CASE_FIXTURE(Bench, "a key set that is none changes nothing, an empty one takes the keys") {
  find("a");
  answer_keys({"a"});
  take();
  now += 10 * kSecond;
  find("b");
  answer({"<html>", {}});
  CHECK(take() == Told{unknown});
  find("a");
  CHECK(take() == Told{"a"});
  now += 10 * kSecond;
  find("b");
  answer({R"({"keys":[]})", {}});
  find("a");
  CHECK(take() == Told{unknown, unknown});
}

TEST_CASE_FIXTURE(Bench,
                  "3.10.5 the place of the keys is asked of the issuer, if it is not given") {
  start({"https://idp/realm/", ""});
  find("a");
  CHECK(asked == Told{"https://idp/realm/.well-known/openid-configuration"});
  answer({R"({"issuer":"https://idp/realm/","jwks_uri":"https://keys.idp/k"})", {}});
  CHECK(asked.back() == "https://keys.idp/k");
  CHECK(take().empty());
  answer_keys({"a"});
  CHECK(take() == Told{"a"});
  CHECK(count("success") == 1);
}

TEST_CASE_FIXTURE(Bench, "an issuer that says something else of itself is not believed") {
  const char* wrong[] = {
      R"({"issuer":"https://evil","jwks_uri":"https://keys/k"})",
      R"({"jwks_uri":"https://keys/k"})",
      R"({"issuer":"https://idp"})",
      R"({"issuer":"https://idp","jwks_uri":"file:///etc/passwd"})",
      R"({"issuer":"https://idp","jwks_uri":"http://idp/keys"})",
      R"({"issuer":"https://idp","issuer":"https://idp","jwks_uri":"https://idp/keys"})",
      "[]",
      "",
  };
  start({"https://idp", ""});
  double failures = 0;
  for (const char* document : wrong) {
    CAPTURE(document);
    find("a");
    answer({document, {}});
    CHECK(waiting.empty());
    CHECK(take() == Told{nothing});
    CHECK(count("failure") == ++failures);
    now += 10 * kSecond;
  }
}

TEST_CASE_FIXTURE(Bench, "an issuer by http, for tests, may name keys by http") {
  start({"http://127.0.0.1:1", ""});
  find("a");
  answer({R"({"issuer":"http://127.0.0.1:1","jwks_uri":"http://127.0.0.1:1/k"})", {}});
  answer_keys({"a"});
  CHECK(take() == Told{"a"});
}

TEST_CASE_FIXTURE(Bench, "keys may go while a fetch is on its way") {
  find("a");
  std::weak_ptr<Jwks> gone = jwks;
  jwks.reset();
  CHECK_FALSE(gone.expired());
  answer_keys({"a"});
  CHECK(take() == Told{"a"});
  CHECK(gone.expired());
}
