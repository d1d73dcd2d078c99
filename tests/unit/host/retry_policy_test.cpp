#include "host/routing/retry_policy.hpp"

#include <doctest/doctest.h>

using namespace smg;

TEST_CASE("http-api 4.12.3: 50, 75, 112, 168 ms without jitter") {
  Retry retry;
  retry.jitter_factor = 0;
  const RetryPolicy policy = retry_policy_of(retry, {});
  const std::uint64_t ms = 1'000'000;
  CHECK(policy.delay(0, 1) == 50 * ms);
  CHECK(policy.delay(1, 2) == 75 * ms);
  CHECK(policy.delay(2, 3) == 112 * ms);
  CHECK(policy.delay(3, 4) == 168 * ms);
  CHECK(policy.delay(100, 5) == 30000 * ms);
}

TEST_CASE("http-api 4.12.3: jitter goes both ways and never below 0") {
  Retry retry;
  retry.jitter_factor = 1;
  const RetryPolicy policy = retry_policy_of(retry, {});
  CHECK(policy.delay(0, 0) == 0);
  CHECK(policy.delay(0, ~std::uint64_t{0}) > 99'999'000);
  CHECK(policy.delay(0, ~std::uint64_t{0}) <= 100'000'000);
  CHECK(policy.delay(0, std::uint64_t{1} << 63) == 50'000'000);
}

TEST_CASE("http-api 4.12.6: what the workers of a model want goes before the gateway's") {
  Retry retry;
  WorkerResilience own;
  own.max_retries = 2;
  own.initial_backoff_ms = 10;
  RetryPolicy policy = retry_policy_of(retry, own);
  CHECK(policy.attempts == 2);
  CHECK(policy.initial_ms == 10);
  CHECK(policy.max_ms == 30000);
  own.disable_retry = true;
  CHECK(retry_policy_of(retry, own).attempts == 1);
  retry.disabled = true;
  own.disable_retry = false;
  CHECK(retry_policy_of(retry, own).attempts == 2);
  CHECK(retry_policy_of(retry, {}).attempts == 1);
}
