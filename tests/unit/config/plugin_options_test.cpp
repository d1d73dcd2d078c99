// Tables and flags that plugins bring along.
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "support.hpp"

namespace smg {
namespace {

const std::array<smg_view, 2> kChoices = {view("tree"), view("hash")};

smg_option chosen(smg_option made) {
  made.choices = kChoices.data();
  made.choice_count = 2;
  return made;
}

const std::array<smg_option, 7> kOptions = {
    option(SMG_OPTION_BOOL, "eager", "true", "eager"),
    ranged(option(SMG_OPTION_INT, "block_size", "16", "block-size"), 1, 1024),
    ranged(option(SMG_OPTION_FLOAT, "threshold", "0.3", "threshold"), 0, 1),
    chosen(option(SMG_OPTION_STRING, "index", "\"tree\"", "index")),
    chosen(option(SMG_OPTION_STRING_LIST, "indexes", "[\"tree\"]", "indexes")),
    option(SMG_OPTION_STRING, "note"),
    option(SMG_OPTION_INT, "anything"),
};

std::vector<const smg_plugin*> plugins() {
  static const smg_plugin kPolicy = plugin(SMG_KIND_POLICY, "sample", kOptions);
  auto all = standard_plugins();
  all.push_back(&kPolicy);
  return all;
}

PluginOptions options_of(const Config& config) {
  return config.plugin_options.at({SMG_KIND_POLICY, "sample"});
}

TEST_CASE("options have their declared defaults, and those without are absent") {
  const auto config = load("", {}, plugins());
  REQUIRE(config);
  CHECK(options_of(*config.value) == PluginOptions{{"eager", true},
                                                   {"block_size", std::int64_t{16}},
                                                   {"threshold", 0.3},
                                                   {"index", std::string("tree")},
                                                   {"indexes", std::vector<std::string>{"tree"}}});
  CHECK(config.value->plugin_options.at({SMG_KIND_POLICY, "random"}).empty());
}

TEST_CASE("a plugin's table and its flags mean the same") {
  const auto file = load(
      "[policy.sample]\neager = false\nblock_size = 32\nthreshold = 1\nindex = \"hash\"\n"
      "indexes = [\"hash\", \"tree\"]\n",
      {}, plugins());
  const auto flags = load("",
                          {"--eager=false", "--block-size", "32", "--threshold", "1", "--index",
                           "hash", "--indexes", "hash", "--indexes", "tree"},
                          plugins());
  REQUIRE(file);
  REQUIRE(flags);
  CHECK(*file.value == *flags.value);
  CHECK(std::get<double>(options_of(*file.value).at("threshold")) == 1.0);
}

TEST_CASE("mistakes in a plugin's options are named like any other") {
  const std::pair<const char*, const char*> cases[] = {
      {"block_sice = 4",
       "x.toml:2: [policy.sample] block_sice = 4: unknown key; did you mean block_size?\n"},
      {"block_size = 0", "x.toml:2: [policy.sample] block_size = 0: must be from 1 to 1024\n"},
      {"block_size = 1025",
       "x.toml:2: [policy.sample] block_size = 1025: must be from 1 to 1024\n"},
      {"block_size = 1.5",
       "x.toml:2: [policy.sample] block_size = 1.5: is a number, must be an integer\n"},
      {"threshold = inf", "x.toml:2: [policy.sample] threshold = inf: must be from 0 to 1\n"},
      {"index = \"list\"",
       "x.toml:2: [policy.sample] index = \"list\": must be one of tree, hash\n"},
      {"indexes = [\"tree\", \"list\"]",
       "x.toml:2: [policy.sample] indexes = [ ... ]: 'list' must be one of tree, hash\n"},
      {"indexes = [1]",
       "x.toml:2: [policy.sample] indexes = [ ... ]: must be a list of strings and nothing else\n"},
      {"unknown_secret = \"s3cret\"", "x.toml:2: [policy.sample] unknown_secret: unknown key\n"},
  };
  for (const auto& [line, text] : cases) {
    CAPTURE(line);
    CHECK(verdict("[policy.sample]\n" + std::string(line) + "\n", {}, plugins()) == text);
  }
  CHECK(verdict("", {"--block-size", "0"}, plugins()) ==
        "--block-size 0: must be from 1 to 1024\n");
  CHECK(verdict("", {"--block-size", "1", "--block-size", "2"}, plugins()) ==
        "--block-size 1 2: is given 2 times\n");
  CHECK(verdict("", {"--treshold", "1"}, plugins()) ==
        "--treshold: unknown flag; did you mean threshold? (smg --help lists all)\n");
}

TEST_CASE("an integer without a range takes all of them") {
  const auto config = load("[policy.sample]\nanything = -9223372036854775808\n", {}, plugins());
  REQUIRE(config);
  CHECK(std::get<std::int64_t>(options_of(*config.value).at("anything")) ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("an exclusive minimum is not allowed itself") {
  auto above = ranged(option(SMG_OPTION_FLOAT, "rate"), 0, 10);
  above.exclusive_minimum = 1;
  const smg_plugin made = plugin(SMG_KIND_POLICY, "cache_aware", {&above, 1});
  CHECK(verdict("[policy.cache_aware]\nrate = 0.0\n", {}, {&made}) ==
        "x.toml:2: [policy.cache_aware] rate = 0: must be above 0 and at most 10\n");
  CHECK(verdict("[policy.cache_aware]\nrate = 0.001\n", {}, {&made}) == "ok");
}

TEST_CASE("a table of a plugin that is not there names those that are") {
  CHECK(
      verdict("[plugins]\npaths = [\"/p\"]\n[policy.samples]\n", {}, plugins()) ==
      "x.toml:3: [policy.samples]: no policy is named 'samples'; did you mean sample? (there are: "
      "cache_aware, round_robin, random, sample; searched: /p)\n");
  CHECK(
      verdict("[plugins]\npaths = [\"/p\"]\n[transport.http]\n", {}, plugins()) ==
      "x.toml:3: [transport.http]: no transport is named 'http' (there are: none; searched: /p)\n");
}

TEST_CASE("a flag that two plugins declare goes to both") {
  const auto shared = option(SMG_OPTION_INT, "interval", "1", "eviction-interval");
  const smg_plugin one = plugin(SMG_KIND_POLICY, "cache_aware", {&shared, 1});
  const smg_plugin two = plugin(SMG_KIND_POLICY, "other", {&shared, 1});
  const auto config = load("", {"--eviction-interval", "7"}, {&one, &two});
  REQUIRE(config);
  for (const char* name : {"cache_aware", "other"}) {
    const auto& options = config.value->plugin_options.at({SMG_KIND_POLICY, name});
    CHECK(std::get<std::int64_t>(options.at("interval")) == 7);
  }
  // It is the gateway's own as well.
  CHECK(config.value->routing_key_override.eviction_interval_secs == 7);
}

TEST_CASE("a flag may have further names") {
  const auto made = option(SMG_OPTION_INT, "size", "1", "first-name,second-name");
  const smg_plugin policy = plugin(SMG_KIND_POLICY, "cache_aware", {&made, 1});
  for (const char* flag : {"--first-name", "--second-name"}) {
    const auto config = load("", {flag, "7"}, {&policy});
    REQUIRE(config);
    const auto& options = config.value->plugin_options.at({SMG_KIND_POLICY, "cache_aware"});
    CHECK(std::get<std::int64_t>(options.at("size")) == 7);
  }
  CHECK(describe_plugin(policy).find("flag: --first-name, --second-name\n") != std::string::npos);
}

TEST_CASE(
    "an instance that a label asks for has defaults of its own, unless the operator decides") {
  auto made = option(SMG_OPTION_INT, "size", "1", "size");
  made.label_default = view("5");
  const smg_plugin policy = plugin(SMG_KIND_POLICY, "cache_aware", {&made, 1});
  const auto sizes = [&](std::string_view toml, std::initializer_list<const char*> flags = {}) {
    const auto config = load(toml, flags, {&policy});
    REQUIRE(config);
    const std::pair key{SMG_KIND_POLICY, std::string("cache_aware")};
    return std::pair(std::get<std::int64_t>(config.value->plugin_options.at(key).at("size")),
                     std::get<std::int64_t>(config.value->label_options.at(key).at("size")));
  };
  CHECK(sizes("") == std::pair<std::int64_t, std::int64_t>(1, 5));
  CHECK(sizes("[policy.cache_aware]\nsize = 9\n") == std::pair<std::int64_t, std::int64_t>(9, 9));
  CHECK(sizes("", {"--size", "9"}) == std::pair<std::int64_t, std::int64_t>(9, 9));
}

TEST_CASE("a descriptor that contradicts itself is refused by the plugin's name") {
  struct Case {
    smg_option option;
    const char* text;
  };
  const Case cases[] = {
      {ranged(option(SMG_OPTION_INT, "size", "5"), 10, 20),
       "plugin policy cache_aware: its option size declares the default 5: must be from 10 to "
       "20\n"},
      {option(SMG_OPTION_INT, "size", "\"5\""),
       "plugin policy cache_aware: its option size declares the default \"5\": is a string, must "
       "be "
       "an integer\n"},
      {chosen(option(SMG_OPTION_STRING, "index", "\"list\"")),
       "plugin policy cache_aware: its option index declares the default \"list\": must be one of "
       "tree, hash\n"},
      {option(SMG_OPTION_INT, "size", "5", "port"),
       "plugin policy cache_aware: its option size declares --port, which is a flag of the gateway "
       "itself\n"},
  };
  for (const auto& c : cases) {
    const smg_plugin made = plugin(SMG_KIND_POLICY, "cache_aware", {&c.option, 1});
    CHECK(verdict("", {}, {&made}) == c.text);
  }
  const auto unquoted = option(SMG_OPTION_STRING, "index", "tree");
  const smg_plugin made = plugin(SMG_KIND_POLICY, "cache_aware", {&unquoted, 1});
  CHECK(
      verdict("", {}, {&made})
          .starts_with("plugin policy cache_aware: its option index declares the default tree: "));
}

}  // namespace
}  // namespace smg
