// Keys and other secrets of the configuration: what is refused, and that no message tells them.
#include "host/config/credentials.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "host/config/diff.hpp"
#include "support.hpp"

using namespace smg;

namespace {

// All that is said about a configuration: problems, warnings, summary.
struct Said {
  std::string problems, all;
  std::optional<Config> config;
};

Said read(std::string_view toml, const ParsedCommand& flags = {}) {
  static const smg_plugin kPolicy = plugin(SMG_KIND_POLICY, defaults::kPolicy);
  const smg_plugin* const plugins[] = {&kPolicy};
  Said said;
  auto draft = read_text(flags, toml, "x.toml");
  REQUIRE(draft);
  auto config = finish(std::move(*draft.value), plugins);
  said.problems = flags.problems.text() + config.problems.text();
  said.all = said.problems;
  if (config) {
    said.config = std::move(*config.value);
    for (const auto& warning : said.config->warnings) said.all += warning + "\n";
    said.all += summary(*said.config);
  }
  return said;
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("3.9.5 keys that cannot be used are start-up errors that do not show them") {
  const std::pair<const char*, const char*> wrong[] = {
      {R"(tenant_api_keys = ["hush"])", "entry 1 has no colon; write it as tenant:key"},
      {R"(tenant_api_keys = ["a:ok", ":hush"])", "entry 2 has an empty tenant"},
      {R"(tenant_api_keys = ["a:"])", "entry 1 has a key that is empty"},
      {R"(tenant_api_keys = [" a:hush"])", "has blanks around its tenant"},
      {R"(tenant_api_keys = ["a :hush"])", "has blanks around its tenant"},
      {R"(tenant_api_keys = ["a:hush "])", "has a key that has blanks around it"},
      {R"(tenant_api_keys = ["a: hush"])", "has a key that has blanks around it"},
      {R"(tenant_api_keys = ["a:hu sh"])", "visible ASCII characters"},
      {R"(tenant_api_keys = ["a b:hush"])", "has a tenant with blanks"},
      {R"(tenant_api_keys = ["a:hush", "b:hush"])",
       "entry 2 (tenant 'b') has the same key as entry 1 (tenant 'a')"},
      {R"(tenant_api_keys = ["a:hush", "a:hush"])", "has the same key as entry 1"},
      {"api_key = \"hush\"\ntenant_api_keys = [\"a:hush\"]", "has the same key as api_key"},
      {R"(tenant_api_keys = "a:hush")", "must be a list of strings"},
      {R"(tenant_api_keys = ["a:hush", 7])", "must be a list of strings"},
      {R"(api_key = "hush ")", "the key has blanks around it"},
      {R"(api_key = "hu\nsh")", "visible ASCII characters"},
      {R"(api_key = "")", "must not be empty"},
      {R"(api_key = ["hush"])", "must be a string"},
      {R"(api_kye = "hush")", "unknown key"},
      {R"(control_plane_api_keys = "id:name:admin:hush")", "must be a list of strings"},
  };
  for (const auto& [line, reason] : wrong) {
    CAPTURE(line);
    const Said said = read("[auth]\n" + std::string(line) + "\n");
    CHECK_FALSE(said.config);
    CHECK_MESSAGE(said.problems.find(reason) != std::string::npos, said.problems);
    CHECK(said.problems.starts_with("x.toml:"));
    CHECK(said.all.find("hush") == std::string::npos);
    CHECK(said.all.find("hu") == std::string::npos);
  }
}

TEST_CASE("3.9.5 flags with secrets are not repeated, however they are mistyped") {
  const std::initializer_list<const char*> wrong[] = {
      {"--tenant-api-key", "hush"},
      {"--tenant-api-key=hush"},
      {"--tenant-api-key", "a:hush", "b:hush"},
      {"--api-key", "hush", "--api-key", "hush2"},
      {"--api-key", "hush", "hush2"},
      {"--api-key=hush", "hush2"},
      {"--api-key", "-hush"},
      {"--api-key", "--hush"},
      {"--api-key", "--hush", "--json"},
      {"--api-key"},
      {"--api-key="},
      {"--tenant-api-key", "a:b", "-hush"},
  };
  for (const auto& words : wrong) {
    CAPTURE(words.begin()[words.size() - 1]);
    const ParsedCommand flags = command(words);
    const Said said = read("", flags);
    CHECK_FALSE(said.problems.empty());
    CHECK_MESSAGE(said.all.find("hush") == std::string::npos, said.all);
    CHECK(said.problems.find("api-key") != std::string::npos);
  }
}

TEST_CASE("a secret that begins with a dash can be given, and other flags go on behind it") {
  const Said said = read("", command({"--api-key=-k", "--port", "31000"}));
  REQUIRE(said.config);
  CHECK(said.config->auth.api_key == "-k");
  CHECK(said.config->server.port == 31000);
}

TEST_CASE("3.10.1 malformed entries for admin routes are passed over with a warning") {
  const Said said = read(
      "[auth]\ncontrol_plane_api_keys = [\"a:A:admin:hush1\", \"hush2\", \"b:B:root:hush3\", "
      "\"c:C:user:\", \":D:user:hush4\", \"e:E:user:hush1\", \"f:F:user:k:with:colons\"]\n");
  REQUIRE(said.config);
  CHECK(said.all.find("hush") == std::string::npos);
  const auto told = [&](const char* text) { return said.all.find(text) != std::string::npos; };
  CHECK(
      told("control_plane_api_keys: entry 2 has fewer than three colons; write it as "
           "id:name:role:key: skipped"));
  CHECK(told("entry 3 has a role that is neither admin nor user"));
  CHECK(told("entry 4 has a key that is empty"));
  CHECK(told("entry 5 has an empty id"));
  CHECK(told("entry 6 has the same key as entry 1"));
  CHECK_FALSE(told("entry 7"));
  std::string reason;
  const auto key = parse_admin_key("f:F:user:k:with:colons", reason);
  REQUIRE(key);
  CHECK(key->key == "k:with:colons");
  CHECK_FALSE(key->is_admin);
}

TEST_CASE("8.10 the environment is read where neither file nor flag says it") {
  const Environment keys("CONTROL_PLANE_API_KEYS", "a:A:admin:k1, b:B:user:k2\nc:C:user:k3");
  const Environment issuer("JWT_ISSUER", "https://env");
  const Environment audience("JWT_AUDIENCE", "smg");
  const Environment uri("JWT_JWKS_URI", "");
  const Said said =
      read("[auth]\njwt_issuer = \"https://file\"\n", command({"--jwt-audience", "flag"}));
  REQUIRE(said.config);
  CHECK(said.config->auth.control_plane_api_keys ==
        std::vector<std::string>{"a:A:admin:k1", "b:B:user:k2", "c:C:user:k3"});
  CHECK(said.config->auth.jwt_issuer == "https://file");
  CHECK(said.config->auth.jwt_audience == "flag");
  CHECK(said.config->auth.jwt_jwks_uri.empty());
}

TEST_CASE("8.10 what is wrong in the environment is told by the variable's name") {
  const Environment uri("JWT_JWKS_URI", "keys.json");
  CHECK(read("").problems ==
        "environment variable JWT_JWKS_URI: must begin with https:// or http://\n");
}

TEST_CASE("3.10.6 an issuer without an audience is a warning, and so is one by http") {
  const auto warned = [](const char* auth, const char* text) {
    const Said said = read("[auth]\n" + std::string(auth));
    CHECK(said.config);
    return said.all.find(text) != std::string::npos;
  };
  CHECK(warned("jwt_issuer = \"https://i\"\n", "only jwt_issuer is set"));
  CHECK(warned("jwt_audience = \"a\"\n", "only jwt_audience is set"));
  CHECK(warned("jwt_jwks_uri = \"https://i/k\"\n", "neither auth.jwt_issuer nor"));
  CHECK(warned("jwt_issuer = \"http://i\"\njwt_audience = \"a\"\n", "by http://"));
  CHECK(warned("jwt_issuer = \"i\"\njwt_audience = \"a\"\njwt_jwks_uri = \"http://i/k\"\n",
               "by http://"));
  CHECK_FALSE(warned("jwt_issuer = \"https://i\"\njwt_audience = \"a\"\n", "http"));
  CHECK(read("[auth]\njwt_issuer = \"i\"\njwt_audience = \"a\"\n")
            .problems.find("[auth] jwt_issuer: must begin with https://") != std::string::npos);
  CHECK(read("[auth]\njwt_role_mapping = { ops = \"root\" }\n")
            .problems.find("maps 'ops' to 'root', must map each role to admin or user") !=
        std::string::npos);
}

TEST_CASE("2.5 workers of the configuration get the gateway's key where they have none") {
  static const smg_plugin kPolicy = plugin(SMG_KIND_POLICY, defaults::kPolicy);
  static const smg_plugin kTransport = plugin(SMG_KIND_TRANSPORT, "http");
  const smg_plugin* const plugins[] = {&kPolicy, &kTransport};
  auto draft =
      read_text(command({"--worker-urls", "http://c"}),
                "[auth]\napi_key = \"shared\"\n[[worker]]\nurl = \"http://a\"\n[[worker]]\n"
                "url = \"http://b\"\napi_key = \"own\"\n",
                "x.toml");
  REQUIRE(draft);
  const auto config = finish(std::move(*draft.value), plugins);
  REQUIRE_MESSAGE(config, config.problems.text());
  REQUIRE(config.value->workers.size() == 3);
  CHECK(config.value->workers[0].api_key == "shared");
  CHECK(config.value->workers[1].api_key == "own");
  CHECK(config.value->workers[2].api_key == "shared");
}

TEST_CASE("all of [auth] is taken over by a reload, and the changes name no value") {
  Config wanted;
  wanted.auth = {"hush1",     {"a:hush2"}, {"a:b:admin:hush3"}, true, "x-t", "https://i", "a",
                 "https://k", "r",         {{"x", "user"}},     true};
  const ConfigChanges changes = compare(Config{}, wanted);
  CHECK(changes.applied.size() == 11);
  CHECK(changes.restart_needed.empty());
  for (const auto& name : changes.applied) {
    CHECK(name.starts_with("auth."));
    CHECK(name.find("hush") == std::string::npos);
  }
  Config running;
  take_live(running, wanted);
  CHECK(running.auth == wanted.auth);
}

TEST_CASE("help shows no secret and names every flag of [auth]") {
  const std::string help = help_text({});
  for (const char* flag : {"--api-key", "--tenant-api-key", "--control-plane-api-keys",
                           "--jwt-issuer", "--jwt-audience", "--jwt-jwks-uri", "--jwt-role-claim",
                           "--jwt-role-mapping", "--disable-audit-logging"}) {
    CHECK(help.find(flag) != std::string::npos);
  }
}

TEST_CASE("what may be a secret in a URL is not repeated") {
  const Said said = read("", command({"--worker-urls", "http://u:hush@h", "http://h/?key=hush"}));
  CHECK(said.problems.find("hush") == std::string::npos);
  CHECK(said.problems.find("http://h/?***") != std::string::npos);
}
