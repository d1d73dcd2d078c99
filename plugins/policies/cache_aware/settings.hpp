// The options of cache_aware, as declared and as read. Section 6.6 of the policies page.
#pragma once

#include <cstdint>
#include <vector>

#include "smg/cpp/host.hpp"
#include "smg/cpp/plugin.hpp"

namespace cache_aware {

struct Settings {
  float cache_threshold;
  double balance_abs_threshold;
  double balance_rel_threshold;
  double balance_token_usage_threshold;
  double overload_token_usage_threshold;
  double overlap_decay;
  double selection_temperature;
  uint64_t eviction_interval;  // ns
  uint64_t max_tree_size;      // characters, and tokens
  uint32_t block_size;         // tokens
  bool hash_placement;         // cache_index = "hash"
  uint64_t cache_ttl;          // ns
  std::vector<uint32_t> boundaries;
  uint32_t kv_indexer_ttl;  // s, 0: off
  uint64_t kv_indexer_max_entries;
};

// Throws smg::Error that names the options if they do not go together.
Settings read_settings(smg::Host host);

inline constexpr smg_view kIndexes[] = {smg::view("tree"), smg::view("hash")};

inline constexpr smg_option kOptions[] = {
    smg::float_option(
        "cache_threshold",
        {.initial = "0.3",
         .help = "Part of a prompt that must have matched for its holders to be preferred",
         .minimum = 0,
         .maximum = 1,
         .flag = "cache-threshold,cache-match-threshold",
         .label_default = "0.5"}),
    smg::int_option("balance_abs_threshold",
                    {.initial = "64",
                     .help = "Requests above the fleet's mean that a holder may have before a "
                             "request goes elsewhere",
                     .minimum = 0,
                     .maximum = 1e9,
                     .flag = "balance-abs-threshold,spill-abs-threshold",
                     .label_default = "32"}),
    smg::float_option("balance_rel_threshold",
                      {.initial = "1.5",
                       .help = "Times the fleet's mean that a holder may have before a request "
                               "goes elsewhere",
                       .minimum = 1,
                       .maximum = 1e6,
                       .flag = "balance-rel-threshold,spill-rel-threshold",
                       .label_default = "1.1"}),
    smg::float_option("balance_token_usage_threshold",
                      {.initial = "1.0",
                       .help = "Difference of KV usage between workers above which requests go by "
                               "load alone; 1.0 is off",
                       .minimum = 0,
                       .maximum = 1e6,
                       .exclusive_minimum = true,
                       .flag = "balance-token-usage-threshold"}),
    smg::float_option(
        "overload_token_usage_threshold",
        {.initial = "1.0",
         .help = "KV usage of any worker above which requests go by load alone; 1.0 is off",
         .minimum = 0,
         .maximum = 1e6,
         .exclusive_minimum = true,
         .flag = "overload-token-usage-threshold"}),
    smg::float_option("overlap_decay",
                      {.initial = "0.0",
                       .help = "How much a longer queue of prompt tokens takes from a holder's "
                               "score; 0 is off",
                       .minimum = 0,
                       .maximum = 1e9,
                       .flag = "overlap-decay"}),
    smg::float_option("selection_temperature",
                      {.initial = "0.0",
                       .help = "How evenly requests are drawn among holders with different scores; "
                               "0 takes the highest",
                       .minimum = 0,
                       .maximum = 1e9,
                       .flag = "selection-temperature"}),
    smg::int_option("eviction_interval_secs",
                    {.initial = "120",
                     .help = "Seconds between two clean-ups of trees and placement map",
                     .minimum = 1,
                     .maximum = 1e9,
                     .flag = "eviction-interval",
                     .label_default = "30"}),
    smg::int_option("max_tree_size",
                    {.initial = "67108864",
                     .help = "Characters, and tokens, that the trees of a model may hold, summed "
                             "over its workers",
                     .minimum = 1,
                     .maximum = 1e15,
                     .flag = "max-tree-size",
                     .label_default = "10000"}),
    smg::int_option("block_size", {.initial = "16",
                                   .help = "Tokens in a page of the engines' caches",
                                   .minimum = 1,
                                   .maximum = 65536,
                                   .flag = "block-size"}),
    smg::string_option("cache_index",
                       {.initial = "\"tree\"",
                        .help = "How prompts are remembered: in prefix trees, or by hashes of "
                                "their first tokens",
                        .choices = kIndexes,
                        .flag = "cache-index"}),
    smg::int_option("cache_ttl_secs",
                    {.initial = "180",
                     .help = "Seconds without use after which a hash placement is forgotten",
                     .minimum = 1,
                     .maximum = 1e9,
                     .flag = "cache-ttl-secs"}),
    smg::string_option("cache_boundaries",
                       {.initial = "\"\"",
                        .help = "Prompt lengths in tokens at which hashes are taken, ascending, "
                                "with commas between",
                        .flag = "cache-boundaries"}),
    smg::int_option("kv_indexer_ttl_secs",
                    {.initial = "0",
                     .help = "Seconds without use after which a block reported by an engine is "
                             "forgotten; 0 is off",
                     .minimum = 0,
                     .maximum = 1e9,
                     .flag = "kv-indexer-ttl-secs"}),
    smg::int_option("kv_indexer_max_entries",
                    {.initial = "0",
                     .help = "Blocks reported by engines that a model may hold; 0 is no limit",
                     .minimum = 0,
                     .maximum = 1e15,
                     .flag = "kv-indexer-max-entries"}),
};

}  // namespace cache_aware
