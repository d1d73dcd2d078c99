#include "host/access_log.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/metrics/families.hpp"
#include "outputs.hpp"
#include "tests/support/wait.hpp"

using namespace smg;
using test::Pipe;
using test::read_file;
using test::ScratchDirectory;

namespace {

struct Books {
  Metrics metrics{MetricsOptions{}};
  Families families{metrics};

  double dropped() const { return families.access_log_dropped.value(); }
};

Log to_directory(const ScratchDirectory& scratch, bool json = false) {
  Log config;
  config.json = json;
  config.dir = scratch.path().string();
  return config;
}

AccessEntry entry(std::string_view id) {
  AccessEntry one;
  one.request_id = id;
  one.path = "/v1/chat/completions";
  one.status = 200;
  return one;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a line is written soon, to standard output and to the file") {
  Books books;
  ScratchDirectory scratch;
  Pipe pipe;
  AccessLog log(to_directory(scratch), 1, books.families.access_log_dropped, pipe.writer());
  REQUIRE(log.start() == "");
  log.lane(0).record(entry("one"));
  CHECK(test::eventually([&] { return !read_file(scratch / "access.log").empty(); }));
  std::string output;
  CHECK(test::eventually([&] { return !(output += pipe.read_some()).empty(); }));
  CHECK(output == read_file(scratch / "access.log"));
  CHECK(output.ends_with(" end=complete request_id=one\n"));
}

TEST_CASE("what is waiting at the end is written") {
  Books books;
  ScratchDirectory scratch;
  {
    AccessLog log(to_directory(scratch, true), 1, books.families.access_log_dropped, -1);
    REQUIRE(log.start() == "");
    for (int i = 0; i < 1000; ++i) log.lane(0).record(entry(std::to_string(i)));
  }
  const auto lines = split(read_file(scratch / "access.log"));
  REQUIRE(lines.size() == 1000);
  CHECK(lines.front().ends_with(R"("request_id":"0"})"));
  CHECK(lines.back().ends_with(R"("request_id":"999"})"));
  CHECK(books.dropped() == 0);
}

TEST_CASE("two loops record at the same time, each in its order, and no line is torn") {
  constexpr int kLines = 20'000;
  Books books;
  ScratchDirectory scratch;
  {
    AccessLog log(to_directory(scratch), 2, books.families.access_log_dropped, -1);
    REQUIRE(log.start() == "");
    const auto record = [&](std::uint32_t lane, const std::string& name) {
      for (int i = 0; i < kLines; ++i) {
        log.lane(lane).record(entry(name + std::to_string(i)));
        // Not faster than it can be written, or lines would be lost for good reason.
        if (i % 1000 == 999) {
          const std::string last = "request_id=" + name + std::to_string(i) + "\n";
          REQUIRE(test::eventually(
              [&] { return read_file(scratch / "access.log").find(last) != std::string::npos; }));
        }
      }
    };
    std::thread other([&] { record(1, "b"); });
    record(0, "a");
    other.join();
  }
  int next[2] = {0, 0};
  for (const auto& line : split(read_file(scratch / "access.log"))) {
    const std::string id = line.substr(line.find("request_id=") + 11);
    REQUIRE_FALSE(id.empty());
    REQUIRE(id.substr(1) == std::to_string(next[id[0] - 'a']++));
  }
  CHECK(next[0] == kLines);
  CHECK(next[1] == kLines);
  CHECK(books.dropped() == 0);
}

TEST_CASE("an output that nobody reads neither stops a loop nor the end, and its losses count") {
  Books books;
  Pipe pipe;
  pipe.shrink();
  constexpr std::size_t kLines = 50'000;
  const auto begun = std::chrono::steady_clock::now();
  {
    AccessLog log({}, 1, books.families.access_log_dropped, pipe.writer());
    REQUIRE(log.start() == "");
    for (std::size_t i = 0; i < kLines; ++i) log.lane(0).record(entry("one"));
  }
  const auto taken = std::chrono::steady_clock::now() - begun;
  // A second's patience while it runs, and another at the end; the rest is slack for a slow
  // machine.
  CHECK(taken < std::chrono::seconds(20));
  const auto lines = split(pipe.read_some());
  CHECK(lines.size() + static_cast<std::size_t>(books.dropped()) == kLines);
  CHECK(books.dropped() > 0);
}

TEST_CASE("a blocked standard output does not keep lines from the file") {
  Books books;
  ScratchDirectory scratch;
  Pipe pipe;
  pipe.shrink();
  constexpr std::size_t kLines = 3000;  // less than a lane holds, more than the pipe does
  {
    AccessLog log(to_directory(scratch), 1, books.families.access_log_dropped, pipe.writer());
    REQUIRE(log.start() == "");
    for (std::size_t i = 0; i < kLines; ++i) log.lane(0).record(entry("one"));
  }
  CHECK(split(read_file(scratch / "access.log")).size() == kLines);
  CHECK(split(pipe.read_some()).size() + static_cast<std::size_t>(books.dropped()) == kLines);
}

TEST_CASE("a log whose file cannot be written does not start") {
  Books books;
  ScratchDirectory scratch;
  Log config;
  config.dir = scratch / "missing";
  AccessLog log(config, 1, books.families.access_log_dropped, -1);
  CHECK(log.start() ==
        "[log] dir: " + config.dir + "/access.log cannot be written: No such file or directory");
}
