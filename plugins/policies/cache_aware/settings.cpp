#include "settings.hpp"

#include "cache_boundaries.hpp"
#include "smg/cpp/options.hpp"

namespace cache_aware {

Settings read_settings(smg::Host host) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const smg::Options options(host);
  const auto number = [&](std::string_view name) {
    return static_cast<uint64_t>(options.get_int(name));
  };
  Settings settings{
      .cache_threshold = static_cast<float>(options.get_float("cache_threshold")),
      .balance_abs_threshold = static_cast<double>(options.get_int("balance_abs_threshold")),
      .balance_rel_threshold = options.get_float("balance_rel_threshold"),
      .balance_token_usage_threshold = options.get_float("balance_token_usage_threshold"),
      .overload_token_usage_threshold = options.get_float("overload_token_usage_threshold"),
      .overlap_decay = options.get_float("overlap_decay"),
      .selection_temperature = options.get_float("selection_temperature"),
      .eviction_interval = number("eviction_interval_secs") * kSecond,
      .max_tree_size = number("max_tree_size"),
      .block_size = static_cast<uint32_t>(number("block_size")),
      .hash_placement = options.get_string("cache_index") == "hash",
      .cache_ttl = number("cache_ttl_secs") * kSecond,
      .boundaries = smg::parse_cache_boundaries(options.get_string("cache_boundaries")),
      .kv_indexer_ttl = static_cast<uint32_t>(number("kv_indexer_ttl_secs")),
      .kv_indexer_max_entries = number("kv_indexer_max_entries")};
  if (settings.hash_placement && settings.boundaries.empty()) {
    throw smg::Error(SMG_E_INVALID,
                     "cache_index = \"hash\" needs `cache_boundaries`, say \"1024,4096\"");
  }
  return settings;
}

}  // namespace cache_aware
