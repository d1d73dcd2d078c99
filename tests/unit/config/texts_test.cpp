// What is printed for people.
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "host/config/duration.hpp"
#include "host/config/nearest.hpp"
#include "host/config/settings.hpp"
#include "support.hpp"

namespace smg {
namespace {

const std::array<smg_option, 2> kOptions = {
    ranged(option(SMG_OPTION_INT, "tree_size", "67108864", "max-tree-size"), 1, 1e308),
    option(SMG_OPTION_STRING, "note"),
};

TEST_CASE("help lists every flag with its default, those of plugins included") {
  const smg_plugin made = plugin(SMG_KIND_POLICY, "sample", kOptions);
  const smg_plugin* const list[] = {&made};
  const std::string help = help_text(list);
  for (const auto& setting : all_settings()) {
    for (const auto flag : {setting.flag, setting.alias, setting.off_flag}) {
      if (flag.empty()) continue;
      CAPTURE(flag);
      CHECK(help.find("--" + std::string(flag)) != std::string::npos);
    }
  }
  CHECK(help.find("--worker-urls") != std::string::npos);
  CHECK(help.find("--max-tree-size") != std::string::npos);
  CHECK(help.find("[30000]") != std::string::npos);
}

TEST_CASE("a description shows the options as one would write them") {
  const smg_plugin made = plugin(SMG_KIND_POLICY, "sample", kOptions);
  CHECK(describe_plugin(made) ==
        "sample 1.2 - policy by the tests\n"
        "made up\n"
        "\n"
        "[policy.sample]\n"
        "  tree_size = 67108864\n"
        "      what it is for (integer, at least 1)\n"
        "      flag: --max-tree-size\n"
        "  note\n"
        "      what it is for (text)\n");
}

TEST_CASE("a list of plugins has a line for each") {
  CHECK(list_plugins(standard_plugins()) ==
        "policy     cache_aware          1.2  made up\n"
        "policy     round_robin          1.2  made up\n"
        "policy     random               1.2  made up\n");
}

TEST_CASE("a summary names workers and no secrets") {
  const auto config =
      load("[[worker]]\nurl = \"http://h:1\"\nmodel = \"m\"\napi_key = \"s3cret\"\n");
  REQUIRE(config);
  const std::string text = summary(*config.value);
  CHECK(text.find("0.0.0.0:30000") != std::string::npos);
  CHECK(text.find("worker http://h:1 m\n") != std::string::npos);
  CHECK(text.find("s3cret") == std::string::npos);
}

TEST_CASE("the nearest word is only suggested when it is near") {
  const std::string_view words[] = {"port", "host", "stall_secs"};
  CHECK(nearest("prot", words) == "port");
  CHECK(nearest("stall_sec", words) == "stall_secs");
  CHECK(nearest("completely_different", words).empty());
  CHECK(nearest("xy", words).empty());
  CHECK(nearest("", words).empty());
  CHECK(nearest(std::string(100'000, 'x'), words).empty());
}

TEST_CASE("durations saturate instead of wrapping") {
  CHECK(seconds_to_ns(3) == 3'000'000'000);
  CHECK(milliseconds_to_ns(3) == 3'000'000);
  CHECK(seconds_to_ns(std::numeric_limits<std::uint64_t>::max()) <= kForever);
  CHECK(milliseconds_to_ns(std::numeric_limits<std::uint64_t>::max()) <= kForever);
}

}  // namespace
}  // namespace smg
