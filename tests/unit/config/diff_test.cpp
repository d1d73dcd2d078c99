// What a reload would change, and what it takes over.
#include "host/config/diff.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "host/config/settings.hpp"
#include "support.hpp"

namespace smg {
namespace {

using Names = std::vector<std::string>;

Config config(std::string_view toml, const std::vector<const smg_plugin*>& plugins = {}) {
  auto result = load(toml, {}, plugins.empty() ? standard_plugins() : plugins);
  REQUIRE_MESSAGE(result, result.problems.text());
  return std::move(*result.value);
}

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_CASE("the same configuration changes nothing and all of it is counted") {
  const Config one = config("[overload]\nwaiting_requests = 4\n");
  const ConfigChanges changes = compare(one, one);
  CHECK_FALSE(changes.any());
  CHECK(changes.restart_needed.empty());
  CHECK(changes.instances.empty());
  CHECK(changes.unchanged == all_settings().size());
}

TEST_CASE("live settings are told from those that need a restart") {
  const Config running = config("");
  const Config wanted = config(
      "[server]\nport = 81\nmax_payload_size = 1000\n[log]\nlevel = \"debug\"\njson = true\n"
      "[overload]\nwaiting_requests = 4\n");
  const ConfigChanges changes = compare(running, wanted);
  CHECK(changes.applied ==
        Names{"server.max_payload_size", "overload.waiting_requests", "log.level"});
  CHECK(changes.restart_needed == Names{"server.port", "log.json"});
  CHECK(changes.unchanged == all_settings().size() - 5);
}

TEST_CASE("what is taken over is what is live, and the rest is told again the next time") {
  Config running = config("");
  const Config wanted = config("[server]\nport = 81\n[retry]\nmax_retries = 2\n");
  take_live(running, wanted);
  CHECK(running.retry.max_retries == 2);
  CHECK(running.server.port == Config{}.server.port);
  const ConfigChanges again = compare(running, wanted);
  CHECK(again.applied.empty());
  CHECK(again.restart_needed == Names{"server.port"});
}

TEST_CASE("every live setting is taken over and no other one is") {
  for (const auto& setting : all_settings()) {
    CAPTURE(setting.name());
    Config other;
    OptionValue value;
    switch (setting.kind) {
      case SettingKind::kBool:
        value = setting.shown(other) != "true";
        break;
      case SettingKind::kInteger:
        value = std::int64_t{77};
        break;
      case SettingKind::kNumber:
        value = 0.77;
        break;
      case SettingKind::kText:
        value = std::string("another");
        break;
      case SettingKind::kTexts:
        value = Names{"another"};
        break;
      case SettingKind::kNumbers:
        value = std::vector<double>{0.77};
        break;
      case SettingKind::kMap:
        value = StringMap{{"a", "b"}};
        break;
    }
    setting.set(other, value);
    Config running;
    REQUIRE_FALSE(setting.same(running, other));
    const ConfigChanges changes = compare(running, other);
    const bool of_policy = setting.section == "policy";
    CHECK(has(changes.applied, setting.name()) == is_live(setting));
    CHECK(has(changes.restart_needed, setting.name()) == (!is_live(setting) && !of_policy));
    CHECK(has(changes.instances, setting.name()) == of_policy);
    take_live(running, other);
    CHECK(setting.same(running, other) == is_live(setting));
  }
}

TEST_CASE("keys of every live group are live") {
  for (const auto& [section, key] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"overload", "waiting_requests"},
           {"liveness", "wedge_secs"},
           {"load_monitor", "interval_secs"},
           {"health_check", "endpoint"},
           {"circuit_breaker", "disabled"},
           {"retry", "max_retries"},
           {"pd", "admission_wait_secs"},
           {"log", "level"},
           {"routing_key_override", "headers"},
           {"server", "max_payload_size"},
           {"server", "request_timeout_secs"},
           {"server", "shutdown_grace_period_secs"},
           {"server", "stream_body_stall_timeout_secs"},
           {"server", "cors_allowed_origins"},
           {"server", "request_id_headers"},
           {"server", "worker_startup_timeout_secs"},
           {"server", "worker_startup_delay_secs"},
           {"server", "worker_startup_check_interval_secs"},
           {"server", "watch_config"}}) {
    CAPTURE(key);
    REQUIRE(find_setting(section, key) != nullptr);
    CHECK(is_live(*find_setting(section, key)));
  }
}

TEST_CASE(
    "the limits of admission and the scheduler's tables are live, which of the two serves is not") {
  const Config running = config("");
  const Config wanted = config(
      "[admission]\nmax_concurrent_requests = 8\nqueue_size = 3\n"
      "[priority_scheduler]\nenabled = true\ndefault_max_class = \"bulk\"\n"
      "[priority_scheduler.classes.system]\nreserved_floor = 1\nqueue_size = 1\n"
      "queue_timeout_secs = 1\nstarvation_threshold_secs = 1\ncan_preempt = false\n"
      "[priority_scheduler.tenant_policies.\"auth:acme\"]\nmax_class = \"bulk\"\n");
  const ConfigChanges changes = compare(running, wanted);
  CHECK(changes.applied == Names{"admission.max_concurrent_requests", "admission.queue_size",
                                 "priority_scheduler.default_max_class",
                                 "priority_scheduler.classes.system",
                                 "priority_scheduler.tenant_policies"});
  CHECK(changes.restart_needed == Names{"priority_scheduler.enabled"});
  Config taken = running;
  take_live(taken, wanted);
  CHECK(taken.priority_scheduler.classes == wanted.priority_scheduler.classes);
  CHECK(taken.priority_scheduler.tenant_max_class == wanted.priority_scheduler.tenant_max_class);
  CHECK_FALSE(compare(taken, wanted).any());
}

TEST_CASE("options of plugins go by kind, plugin and option") {
  const smg_option limit = option(SMG_OPTION_INT, "limit", "3");
  const smg_option unset = option(SMG_OPTION_INT, "unset");
  const std::vector<smg_option> options{limit, unset};
  const smg_plugin policy = plugin(SMG_KIND_POLICY, "cache_aware", options);
  const std::vector<const smg_plugin*> plugins{&policy};
  const Config running = config("", plugins);
  const Config wanted = config("[policy.cache_aware]\nlimit = 4\nunset = 1\n", plugins);
  const ConfigChanges changes = compare(running, wanted);
  CHECK(changes.instances == Names{"policy.cache_aware.limit", "policy.cache_aware.unset"});
  CHECK_FALSE(changes.any());
  CHECK(compare(wanted, running).instances == changes.instances);
}

TEST_CASE("workers are compared by URL, and no secret is told") {
  const std::string one = "[[worker]]\nurl = \"http://one\"\napi_key = \"hush\"\n";
  const std::string two = "[[worker]]\nurl = \"http://two\"\n";
  const Config running = config(one + two);
  const Config wanted = config(
      "[[worker]]\nurl = \"http://three\"\n[[worker]]\nurl = \"http://one\"\napi_key = \"psst\"\n");
  const ConfigChanges changes = compare(running, wanted);
  CHECK(changes.workers_added == Names{"http://three"});
  CHECK(changes.workers_changed == Names{"http://one"});
  CHECK(changes.workers_removed == Names{"http://two"});
  CHECK(changes.any());
  Config taken = running;
  take_live(taken, wanted);
  CHECK_FALSE(compare(taken, wanted).any());
}

}  // namespace
}  // namespace smg
