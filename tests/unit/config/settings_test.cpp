// Every row of the table of settings, so that a new row is tested by being there.
#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <sstream>

#include "host/config/settings.hpp"
#include "support.hpp"

namespace smg {
namespace {

// A value of the setting that is not its default, as TOML and as words.
struct Sample {
  std::string toml;
  std::vector<std::string> words;
};

Sample sample(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::kBool:
      return setting.shown(Config{}) == "true" ? Sample{"false", {"false"}} : Sample{"true", {}};
    case SettingKind::kInteger: {
      const auto value = std::to_string(static_cast<long long>(setting.minimum) + 1);
      return {value, {value}};
    }
    case SettingKind::kNumber:
      return {"1.0", {"1.0"}};
    case SettingKind::kText: {
      const std::string text(setting.key == "endpoint"  ? "/up"
                             : setting.key == "host"    ? "127.0.0.1"
                             : !setting.choices.empty() ? setting.choices[0]
                                                        : "some-name");
      return {"\"" + text + "\"", {text}};
    }
    case SettingKind::kTexts:
      return {"[\"x-one\", \"x-two\"]", {"x-one", "x-two"}};
    case SettingKind::kNumbers:
      return {"[0.5, 1, 2.25]", {"0.5", "1", "2.25"}};
    case SettingKind::kMap:
      return {"{ \"a\" = \"user\", \"c\" = \"admin\" }", {"a=user", "c=admin"}};
  }
  return {};
}

std::string in_section(const Setting& setting, const std::string& value) {
  return "[" + std::string(setting.section) + "]\n" + std::string(setting.key) + " = " + value +
         "\n";
}

Draft read_or_fail(std::string_view toml, const std::vector<FlagUse>& flags) {
  ParsedCommand parsed;
  parsed.flags = flags;
  auto draft = read_text(parsed, toml, "x.toml");
  REQUIRE(draft);
  return std::move(*draft.value);
}

std::string number(double value) {
  std::ostringstream out;
  out.precision(17);
  out << value;
  return out.str();
}

TEST_CASE("each setting means the same from the file and from its flag") {
  int compared = 0;
  for (const auto& setting : all_settings()) {
    CAPTURE(setting.section);
    CAPTURE(setting.key);
    const Sample value = sample(setting);
    const Draft from_file = read_or_fail(in_section(setting, value.toml), {});
    REQUIRE_MESSAGE(from_file.problems.empty(), from_file.problems.text());
    CHECK_FALSE(from_file.config == Config{});
    for (const auto flag : {setting.flag, setting.alias}) {
      if (flag.empty()) continue;
      const FlagUse use{std::string(flag), value.words};
      const Draft from_flag = read_or_fail("", {use});
      REQUIRE_MESSAGE(from_flag.problems.empty(), from_flag.problems.text());
      CHECK(from_flag.config == from_file.config);
      ++compared;
    }
    if (!setting.off_flag.empty()) {
      const Draft off = read_or_fail("", {{std::string(setting.off_flag), {}}});
      CHECK(off.config == from_file.config);
      ++compared;
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("each flag overrides the file") {
  for (const auto& setting : all_settings()) {
    if (setting.flag.empty() || setting.kind != SettingKind::kInteger) continue;
    CAPTURE(setting.key);
    const auto low = number(setting.minimum + 1);
    const auto high = number(setting.minimum + 2);
    const Draft both =
        read_or_fail(in_section(setting, low), {{std::string(setting.flag), {high}}});
    const Draft file = read_or_fail(in_section(setting, high), {});
    CHECK(both.config == file.config);
  }
}

TEST_CASE("both ends of each range are allowed and what lies beyond is not") {
  for (const auto& setting : all_settings()) {
    if (setting.kind != SettingKind::kInteger) continue;
    CAPTURE(setting.key);
    const auto problems = [&](const std::string& value) {
      const Draft file = read_or_fail(in_section(setting, value), {});
      if (setting.flag.empty()) return file.problems.lines.size();
      const Draft flag = read_or_fail("", {{std::string(setting.flag), {value}}});
      CHECK(flag.problems.lines.size() == file.problems.lines.size());
      return file.problems.lines.size();
    };
    const bool to_the_end = setting.maximum > 9e18;
    CHECK(problems(number(setting.minimum)) == 0);
    CHECK(problems(number(setting.minimum - 1)) == 1);
    CHECK(problems(to_the_end ? "9223372036854775807" : number(setting.maximum)) == 0);
    if (!to_the_end) CHECK(problems(number(setting.maximum + 1)) == 1);
  }
}

TEST_CASE("no number that is not finite passes") {
  for (const auto& setting : all_settings()) {
    if (setting.kind != SettingKind::kNumber) continue;
    CAPTURE(setting.key);
    for (const char* value : {"nan", "inf", "-inf"}) {
      CHECK(read_or_fail(in_section(setting, value), {}).problems.lines.size() == 1);
      CHECK(read_or_fail("", {{std::string(setting.flag), {value}}}).problems.lines.size() == 1);
    }
  }
}

TEST_CASE("each setting refuses every other type") {
  const std::pair<SettingKind, const char*> values[] = {
      {SettingKind::kBool, "true"},        {SettingKind::kInteger, "7"},
      {SettingKind::kNumber, "7.5"},       {SettingKind::kText, "\"x\""},
      {SettingKind::kTexts, "[\"x\"]"},    {SettingKind::kNumbers, "[7.5]"},
      {SettingKind::kMap, "{ x = \"y\" }"}};
  for (const auto& setting : all_settings()) {
    for (const auto& [kind, value] : values) {
      if (kind == setting.kind) continue;
      // An integer is a number as well.
      if (kind == SettingKind::kInteger && setting.kind == SettingKind::kNumber) continue;
      // [policy] holds tables of plugins besides its keys, but none of this name.
      CAPTURE(setting.key);
      CAPTURE(value);
      const Draft draft = read_or_fail(in_section(setting, value), {});
      REQUIRE(draft.problems.lines.size() == 1);
      CHECK(draft.problems.lines[0].find("must be ") != std::string::npos);
    }
    CHECK(read_or_fail(in_section(setting, "2026-01-01"), {}).problems.lines.size() == 1);
  }
}

TEST_CASE("names of settings and flags are unique and every row has a help text") {
  std::set<std::string> keys;
  std::set<std::string_view> flags;
  for (const auto& setting : all_settings()) {
    CHECK(keys.insert(std::string(setting.section) + "." + std::string(setting.key)).second);
    for (const auto flag : {setting.flag, setting.alias, setting.off_flag}) {
      if (!flag.empty()) CHECK(flags.insert(flag).second);
      CHECK_FALSE(is_flag_of_reference(flag));
    }
    CHECK_FALSE(setting.help.empty());
  }
}

TEST_CASE("defaults are those of the documentation") {
  const Config config;
  CHECK(config.server.port == 30000);
  CHECK(config.metrics.port == 29000);
  CHECK(config.overload.protection);
  CHECK(config.overload.waiting_requests == 8);
  CHECK(config.overload.token_usage == 0.8);
  CHECK_FALSE(config.overload.shed);
  CHECK(config.liveness.stall_secs == 2);
  CHECK(config.liveness.wedge_secs == 3);
  CHECK(config.liveness.stale_secs == 15);
  CHECK(config.load_monitor.interval_secs == 10);
  CHECK(config.retry.max_retries == 5);
  CHECK(config.circuit_breaker.failure_threshold == 10);
  CHECK(config.metrics.duration_buckets.size() == 29);
  CHECK(config.metrics.duration_buckets.back() == 7200);
}

TEST_CASE("an empty file gives the defaults") {
  const auto config = load("");
  REQUIRE(config);
  Config expected;
  expected.plugin_options = config.value->plugin_options;
  expected.label_options = config.value->label_options;
  CHECK(*config.value == expected);
}

}  // namespace
}  // namespace smg
