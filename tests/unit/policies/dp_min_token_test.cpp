// Section 6.11 of the policies page, and its worked example J.
#include "dp_min_token.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "smg/worker.h"

using smg::DpMinToken;

namespace {

constexpr std::string_view kUrl = "http://w1:8000";

// Ranks with their used tokens; a rank of `capacity` 0 gives no absolute figures.
void report(DpMinToken& chooser, const std::vector<std::pair<int, int>>& ranks, int capacity = 1000,
            std::string_view url = kUrl) {
  // Ranks of a newer host, which are larger than this side knows.
  struct Longer {
    smg_rank_load load;
    std::uint64_t more;
  };
  std::vector<Longer> loads;
  for (const auto& [rank, tokens] : ranks) {
    Longer longer{};
    longer.load.dp_rank = rank;
    longer.load.used_tokens = tokens;
    longer.load.max_total_tokens = capacity;
    longer.more = ~0ull;
    loads.push_back(longer);
  }
  smg_event_load event{};
  event.event.type = SMG_EVENT_LOAD_REPORT;
  event.event.worker_url = {url.data(), url.size()};
  event.report.rank_count = static_cast<std::uint32_t>(loads.size());
  event.report.ranks = reinterpret_cast<const smg_rank_load*>(loads.data());
  event.report.rank_stride = sizeof(Longer);
  chooser.on_event(event.event);
}

void change(DpMinToken& chooser, std::uint32_t type, std::uint32_t after = 0) {
  smg_event_change event{};
  event.event.type = type;
  event.event.worker_url = {kUrl.data(), kUrl.size()};
  event.after = after;
  chooser.on_event(event.event);
}

}  // namespace

TEST_CASE("dp_min_token J: the fewest tokens, ties to the lower rank, the cost counts at once") {
  DpMinToken chooser;
  CHECK_FALSE(chooser.choose(kUrl, 60));
  report(chooser, {{0, 100}, {1, 100}, {2, 50}});
  CHECK(chooser.choose(kUrl, 60) == 2);
  CHECK(chooser.choose(kUrl, 10) == 0);
  CHECK(chooser.choose(kUrl, 5) == 1);
  CHECK(chooser.choose(kUrl, 1) == 1);  // 110, 105, 110
  CHECK_FALSE(chooser.choose("http://w2:8000", 5));
}

TEST_CASE("dp_min_token J: a text of ten words costs 13") {
  CHECK(DpMinToken::cost({}, "one two three four five six seven eight nine ten") == 13);
  CHECK(DpMinToken::cost({}, "  one\ttwo\nthree ") == 4);
  CHECK(DpMinToken::cost({}, "word") == 2);
  CHECK(DpMinToken::cost({}, "") == 1);
  CHECK(DpMinToken::cost({}, " \n ") == 1);
  const std::uint32_t tokens[] = {1, 2, 3};
  CHECK(DpMinToken::cost(tokens, "a text that does not count") == 3);
}

TEST_CASE("dp_min_token: a report replaces what was known, with all that was added") {
  DpMinToken chooser;
  report(chooser, {{0, 10}, {1, 20}});
  CHECK(chooser.choose(kUrl, 500) == 0);
  CHECK(chooser.choose(kUrl, 500) == 1);
  report(chooser, {{0, 10}, {1, 20}, {7, 0}});
  CHECK(chooser.choose(kUrl, 15) == 7);
  CHECK(chooser.choose(kUrl, 1) == 0);
}

TEST_CASE(
    "dp_min_token: a report without absolute figures forgets the worker, no report does not") {
  DpMinToken chooser;
  report(chooser, {{0, 10}});
  change(chooser, SMG_EVENT_NO_REPORT, SMG_NO_REPORT_TIMEOUT);
  CHECK(chooser.choose(kUrl, 1) == 0);
  report(chooser, {{0, 10}}, 0);
  CHECK_FALSE(chooser.choose(kUrl, 1));
  report(chooser, {});
  CHECK_FALSE(chooser.choose(kUrl, 1));
}

TEST_CASE("dp_min_token: a worker that leaves Ready or is removed is forgotten") {
  for (const auto& [type, after, known] : {std::tuple{SMG_EVENT_WORKER_REMOVED, 0u, false},
                                           {SMG_EVENT_WORKER_STATUS, SMG_STATUS_NOT_READY, false},
                                           {SMG_EVENT_WORKER_STATUS, SMG_STATUS_DRAINING, false},
                                           {SMG_EVENT_WORKER_STATUS, SMG_STATUS_READY, true}}) {
    DpMinToken chooser;
    report(chooser, {{0, 10}});
    report(chooser, {{3, 10}}, 1000, "http://w2:8000");
    change(chooser, type, after);
    CHECK(chooser.choose(kUrl, 1).has_value() == known);
    CHECK(chooser.choose("http://w2:8000", 1) == 3);
  }
}

TEST_CASE("dp_min_token: figures below zero count as none") {
  DpMinToken chooser;
  report(chooser, {{0, 1}, {1, -5}});
  CHECK(chooser.choose(kUrl, 1) == 1);
  CHECK(chooser.choose(kUrl, 1) == 0);  // 1 and 1
}
