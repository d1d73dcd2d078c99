// Splitting a command line into a command and its flags.
#include <doctest/doctest.h>

#include "support.hpp"

namespace smg {
namespace {

TEST_CASE("launch is what happens when no command is named") {
  CHECK(command({}).command == Command::kLaunch);
  CHECK(command({"launch"}).command == Command::kLaunch);
  CHECK(command({"start"}).command == Command::kLaunch);
  CHECK(command({"--port", "80"}).command == Command::kLaunch);
}

TEST_CASE("a file is named by --config or by check-config") {
  CHECK(command({"launch", "--config", "a.toml"}).config_file == "a.toml");
  CHECK(command({"--config=a.toml"}).config_file == "a.toml");
  const auto check = command({"check-config", "a.toml", "--port", "80"});
  CHECK(check.command == Command::kCheckConfig);
  CHECK(check.config_file == "a.toml");
  CHECK(check.flags.size() == 1);
  CHECK(command({"check-config", "--config", "a.toml"}).config_file == "a.toml");
}

TEST_CASE("plugins are listed and described") {
  CHECK(command({"plugins", "list"}).command == Command::kPluginsList);
  const auto parsed = command({"plugins", "describe", "random", "--config", "a.toml"});
  CHECK(parsed.command == Command::kPluginsDescribe);
  CHECK(parsed.plugin == "random");
  CHECK(parsed.config_file == "a.toml");
}

TEST_CASE("a new plugin is asked for with its name, kind and language") {
  const auto parsed =
      command({"plugins", "new", "mine", "--kind", "policy", "--lang=c++", "--dir", "x/y"});
  CHECK(parsed.command == Command::kPluginsNew);
  CHECK(parsed.problems.empty());
  CHECK(parsed.new_plugin.name == "mine");
  CHECK(parsed.new_plugin.kind == "policy");
  CHECK(parsed.new_plugin.language == "c++");
  CHECK(parsed.new_plugin.directory == "x/y");
  CHECK(parsed.flags.empty());
}

TEST_CASE("version answers whatever else stands there") {
  CHECK(command({"-V"}).command == Command::kVersion);
  CHECK(command({"bogus", "--version"}).command == Command::kVersion);
  CHECK(command({"bogus", "--version"}).problems.empty());
  CHECK(command({"--no-such", "--version-verbose"}).command == Command::kVersionVerbose);
}

TEST_CASE("help is a flag of every command") {
  CHECK(command({"-h"}).command == Command::kHelp);
  CHECK(command({"launch", "--help"}).command == Command::kHelp);
  CHECK(command({"plugins", "list", "--help"}).command == Command::kHelp);
}

TEST_CASE("values stand behind the flag or behind an equals sign") {
  const auto parsed =
      command({"--worker-urls", "http://a:1", "http://b:2", "--log-level=warn", "--log-json"});
  REQUIRE(parsed.flags.size() == 3);
  CHECK(parsed.flags[0].words == std::vector<std::string>{"http://a:1", "http://b:2"});
  CHECK(parsed.flags[1].words == std::vector<std::string>{"warn"});
  CHECK(parsed.flags[2].words.empty());
  CHECK(command({"--policy=--odd=name"}).flags[0].words == std::vector<std::string>{"--odd=name"});
  CHECK(command({"--some", "-1"}).flags[0].words == std::vector<std::string>{"-1"});
}

TEST_CASE("a repeated flag gathers its words, by whichever of its names") {
  const auto parsed = command({"--backend", "vllm", "--runtime", "sglang"});
  REQUIRE(parsed.flags.size() == 1);
  CHECK(parsed.flags[0].name == "backend");
  CHECK(parsed.flags[0].count == 2);
  CHECK(parsed.flags[0].words == std::vector<std::string>{"vllm", "sglang"});
}

TEST_CASE("a command line that makes no sense is refused in words") {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"lunch"},
       "unknown command 'lunch'; did you mean launch? (launch, check-config FILE, plugins list, "
       "plugins describe NAME, plugins new NAME)\n"},
      {{"check-config"}, "check-config needs a file: smg check-config FILE\n"},
      {{"check-config", "a.toml", "--config", "b.toml"},
       "--config b.toml: there is a file already, a.toml\n"},
      {{"plugins"},
       "say what to do with plugins: smg plugins list, smg plugins describe NAME, or smg plugins "
       "new NAME --kind policy --lang c++\n"},
      {{"plugins", "describe"},
       "say what to do with plugins: smg plugins list, smg plugins describe NAME, or smg plugins "
       "new NAME --kind policy --lang c++\n"},
      {{"plugins", "new", "mine"},
       "--kind is missing: policy, transport or monitor\n--lang is missing: c++, c or rust\n"},
      {{"plugins", "new", "mine", "--kind", "policy", "monitor", "--lang=", "--port", "1"},
       "--kind needs one value\n--lang needs one value\n"
       "--port: smg plugins new takes --kind, --lang and --dir\n"},
      {{"--config"}, "--config needs one file\n"},
      {{"--config="}, "--config needs one file\n"},
      {{"--config", "a", "b"}, "--config needs one file\n"},
      {{"launch", "a.toml"}, "'a.toml' stands where a flag is expected; flags begin with --\n"},
      {{"-x"}, "'-x' stands where a flag is expected; flags begin with --\n"},
      {{"--"}, "'--' stands where a flag is expected; flags begin with --\n"},
  };
  for (const auto& [arguments, text] : cases) {
    CAPTURE(text);
    CHECK(parse_command_line(arguments).problems.text() == text);
  }
}

}  // namespace
}  // namespace smg
