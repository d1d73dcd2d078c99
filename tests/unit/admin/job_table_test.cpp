#include "host/fleet/job_table.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace smg;

namespace {

struct Bench {
  explicit Bench(std::uint32_t capacity = 10, std::uint32_t concurrency = 2)
      : table(loop, capacity, concurrency) {}

  std::uint64_t submit(const std::string& worker) {
    std::uint64_t number = 0;
    table.submit(
        JobType::add_worker, worker, "http://" + worker,
        [this, worker] { turns.push_back(worker); }, [this, worker] { queued.push_back(worker); },
        number);
    return number;
  }
  JobStatus status(const std::string& worker) { return table.find(worker)->status; }

  Loop loop{0};
  JobTable table;
  std::vector<std::string> turns, queued;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("http-api 2.5: a job waits, runs, and is forgotten when it succeeds") {
  Bench bench(10, 1);
  const auto first = bench.submit("a");
  const auto second = bench.submit("b");
  CHECK(bench.turns == Names{"a"});
  CHECK(bench.queued == Names{"a", "b"});
  CHECK(bench.status("a") == JobStatus::processing);
  CHECK(bench.status("b") == JobStatus::pending);
  CHECK(bench.table.find("a")->worker_url == "http://a");
  bench.table.end(first);
  CHECK(bench.table.find("a") == nullptr);
  CHECK(bench.turns == Names{"a", "b"});
  bench.table.end(second, "no answer");
  CHECK(bench.status("b") == JobStatus::failed);
  CHECK(bench.table.find("b")->message == "no answer");
}

TEST_CASE("http-api 2.5: a full queue blocks the submitter") {
  Bench bench(1, 1);
  const auto first = bench.submit("a");
  const auto second = bench.submit("b");
  bench.submit("c");
  CHECK(bench.queued == Names{"a", "b"});
  bench.table.end(first);
  CHECK(bench.queued == Names{"a", "b", "c"});
  bench.table.end(second);
  CHECK(bench.turns == Names{"a", "b", "c"});
}

TEST_CASE("a job that waits for time to pass holds up no other") {
  Bench bench(10, 1);
  const auto first = bench.submit("a");
  bench.submit("b");
  bench.table.step_aside(first);
  CHECK(bench.turns == Names{"a", "b"});
  CHECK(bench.status("a") == JobStatus::processing);
  bench.table.come_back(first, [&] { bench.turns.push_back("a again"); });
  CHECK(bench.turns == Names{"a", "b"});
  bench.table.end(2);
  CHECK(bench.turns == Names{"a", "b", "a again"});
}

TEST_CASE("a job may end while it waits for its turn, its place, or its time") {
  Bench bench(1, 1);
  const auto running = bench.submit("a");
  const auto waiting = bench.submit("b");
  const auto outside = bench.submit("c");
  bench.table.end(outside);
  bench.table.end(waiting);
  bench.table.step_aside(running);
  bench.table.end(running);
  bench.table.come_back(running, [&] { bench.turns.push_back("never"); });
  CHECK(bench.turns == Names{"a"});
  const auto next = bench.submit("d");
  CHECK(bench.turns == Names{"a", "d"});
  bench.table.end(next);
}

TEST_CASE("the record of a worker is that of its last job") {
  Bench bench(10, 2);
  const auto first = bench.submit("a");
  const auto second = bench.submit("a");
  bench.table.end(first, "overtaken");
  CHECK(bench.status("a") == JobStatus::processing);
  bench.table.end(second);
  CHECK(bench.table.find("a") == nullptr);
}
