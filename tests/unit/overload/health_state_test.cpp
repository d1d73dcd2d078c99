#include "host/fleet/health_state.hpp"

#include <doctest/doctest.h>

#include "smg/worker.h"

using namespace smg;

namespace {

std::uint32_t run(HealthState& state, std::uint32_t status, const char* probes) {
  for (; *probes != '\0'; ++probes) status = state.probed(status, *probes == '+');
  return status;
}

}  // namespace

TEST_CASE("http-api 4.14.2: pending becomes ready after passes in a row") {
  HealthState state(2, 3);
  CHECK(run(state, SMG_STATUS_PENDING, "+-+") == SMG_STATUS_PENDING);
  CHECK(run(state, SMG_STATUS_PENDING, "+") == SMG_STATUS_READY);
}

TEST_CASE("http-api 4.14.2: ready becomes not ready after failures in a row") {
  HealthState state(2, 3);
  CHECK(run(state, SMG_STATUS_READY, "--+--") == SMG_STATUS_READY);
  CHECK(run(state, SMG_STATUS_READY, "-") == SMG_STATUS_NOT_READY);
}

TEST_CASE(
    "http-api 4.14.2: not ready becomes ready after passes, failed after three times the "
    "failures") {
  HealthState state(2, 3);
  REQUIRE(run(state, SMG_STATUS_READY, "---") == SMG_STATUS_NOT_READY);
  CHECK(run(state, SMG_STATUS_NOT_READY, "--------") == SMG_STATUS_NOT_READY);
  CHECK(run(state, SMG_STATUS_NOT_READY, "-") == SMG_STATUS_FAILED);
  HealthState other(2, 3);
  CHECK(run(other, SMG_STATUS_NOT_READY, "--------+--------+-+") == SMG_STATUS_NOT_READY);
  CHECK(run(other, SMG_STATUS_NOT_READY, "+") == SMG_STATUS_READY);
}

TEST_CASE("http-api 4.14.2: pending fails after ten times the failures, whatever its probes said") {
  HealthState state(2, 3);
  const char* const kAlternating = "+-+-+-+-+-+-+-+-+-+-+-+-+-+-+";
  CHECK(run(state, SMG_STATUS_PENDING, kAlternating) == SMG_STATUS_PENDING);
  CHECK(run(state, SMG_STATUS_PENDING, "-") == SMG_STATUS_FAILED);
}

TEST_CASE("http-api 4.14.3: failed and draining are left alone") {
  HealthState state(1, 1);
  CHECK(run(state, SMG_STATUS_FAILED, "++--") == SMG_STATUS_FAILED);
  CHECK(run(state, SMG_STATUS_DRAINING, "++--") == SMG_STATUS_DRAINING);
}

TEST_CASE("other thresholds keep what was counted") {
  HealthState state(2, 3);
  CHECK(run(state, SMG_STATUS_READY, "-") == SMG_STATUS_READY);
  state.configure(2, 2);
  CHECK(run(state, SMG_STATUS_READY, "-") == SMG_STATUS_NOT_READY);
}
