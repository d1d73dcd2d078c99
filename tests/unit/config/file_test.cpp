// Files that are not there, or not files.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support.hpp"
#include "tests/support/scratch_directory.hpp"

namespace smg {
namespace {

Result<Draft> read(const ParsedCommand& parsed) {
  const auto text = read_file(parsed);
  if (!text) return {std::nullopt, text.problems};
  return read_text(parsed, *text.value, parsed.config_file);
}

std::string read_verdict(const std::string& file) {
  ParsedCommand parsed;
  parsed.config_file = file;
  const auto draft = read(parsed);
  return draft ? "ok" : draft.problems.text();
}

TEST_CASE("a file is read from the disk") {
  const test::ScratchDirectory directory;
  const std::string file = directory / "smg.toml";
  std::ofstream(file) << "[server]\nport = 81\n";
  ParsedCommand parsed;
  parsed.config_file = file;
  const auto draft = read(parsed);
  REQUIRE(draft);
  CHECK(draft.value->config.server.port == 81);
}

TEST_CASE("a missing file, a directory and an unreadable file are told apart") {
  const test::ScratchDirectory directory;
  const std::string missing = directory / "missing.toml";
  CHECK(read_verdict(missing) == missing + ": No such file or directory\n");
  CHECK(read_verdict(directory.path().string()) ==
        directory.path().string() + ": is a directory, must be a TOML file\n");
  const std::string closed = directory / "closed.toml";
  std::ofstream(closed) << "";
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  // Root reads everything.
  if (geteuid() != 0) CHECK(read_verdict(closed) == closed + ": Permission denied\n");
}

TEST_CASE("a device without end is not read to its end") {
  CHECK(read_verdict("/dev/zero").find("more than 1048576 bytes") != std::string::npos);
}

TEST_CASE("without a file the defaults hold") {
  const auto draft = read(ParsedCommand{});
  REQUIRE(draft);
  CHECK(draft.value->config == Config{});
}

}  // namespace
}  // namespace smg
