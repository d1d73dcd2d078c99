#include "settings.hpp"

#include <doctest/doctest.h>

#include <string>

#include "fake_policy.hpp"
#include "option_defaults.hpp"

using namespace smg::test;

namespace {

std::string refusal(const std::string& index, const std::string& boundaries) {
  FakeHost host;
  set_defaults(host);
  host.strings["cache_index"] = index;
  host.strings["cache_boundaries"] = boundaries;
  try {
    const LoadedPolicy policy(SMG_CACHE_AWARE, host);
  } catch (const std::exception& error) {
    CHECK(host.timer_count() == 0);
    CHECK(host.subscriber_count() == 0);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the defaults are those of the command line, and others for an instance of a label") {
  FakeHost host;
  set_defaults(host);
  const smg::Host view(host.raw());
  const cache_aware::Settings settings = cache_aware::read_settings(view);
  CHECK(settings.cache_threshold == 0.3f);
  CHECK(settings.balance_abs_threshold == 64);
  CHECK(settings.balance_rel_threshold == 1.5);
  CHECK(settings.eviction_interval == 120'000'000'000);
  CHECK(settings.max_tree_size == 67108864);
  CHECK(settings.block_size == 16);
  CHECK(settings.cache_ttl == 180'000'000'000);
  CHECK_FALSE(settings.hash_placement);

  set_defaults(host, true);
  const cache_aware::Settings of_label = cache_aware::read_settings(view);
  CHECK(of_label.cache_threshold == 0.5f);
  CHECK(of_label.balance_abs_threshold == 32);
  CHECK(of_label.balance_rel_threshold == 1.1);
  CHECK(of_label.eviction_interval == 30'000'000'000);
  CHECK(of_label.max_tree_size == 10000);
  CHECK(of_label.block_size == 16);
}

TEST_CASE("hash placement without boundaries is refused, and so are boundaries that do not rise") {
  CHECK(refusal("tree", "") == "");
  CHECK(refusal("hash", "1024, 4096") == "");
  const std::string neither = refusal("hash", "");
  CHECK(neither.find("cache_index") != std::string::npos);
  CHECK(neither.find("cache_boundaries") != std::string::npos);
  CHECK(refusal("hash", "8,4").find("cache_boundaries") != std::string::npos);
}

TEST_CASE("an instance leaves no timer, no subscription and no thread behind") {
  FakeHost host;
  set_defaults(host);
  host.ints["kv_indexer_ttl_secs"] = 60;
  {
    const LoadedPolicy policy(SMG_CACHE_AWARE, host);
    CHECK(host.timer_count() == 2);
    CHECK(host.subscriber_count() == 1);
    CHECK((policy.plugin().flags & SMG_PLUGIN_UNLOADABLE) != 0);
  }
  CHECK(host.timer_count() == 0);
  CHECK(host.subscriber_count() == 0);
}
