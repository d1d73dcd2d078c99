// What cache_aware hands over to its successor (smg/handover.h), in the format `cache_aware/1`:
//
//   state     := number of models, model*
//   model     := name, URLs of its workers, pages, strings, tokens, placement, index
//   pages     := tokens of a page (block_size)
//   strings, tokens := a tree, see prefix_tree_state.hpp
//   placement := (1, hash, boundary, worker, ns since its last use)* 0
//   index     := tokens of a block, for each worker: blocks of (engine hash, prefix hash, s since
//                its last use)
//
// Workers are known by their URL; elsewhere in a model by their place in its list. What is written
// while requests go on is what was known at some moment during the call, for each book its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "models.hpp"
#include "settings.hpp"
#include "smg/cpp/handover.hpp"

namespace cache_aware {

inline constexpr std::string_view kStateFormat = "cache_aware/1";

// [any] `now`: the host's monotonic clock.
void export_models(const Models& models, const Settings& settings, uint64_t now,
                   smg::StateWriter& writer);

// Takes in what is about models and workers that are known here, as far as the settings have a use
// for it and the budgets allow. If it throws smg::Error, all models are empty. REQUIRES: they were
// empty, apart from what engines have reported, and nobody selects.
void import_models(std::string_view state, const Settings& settings, const Models& models,
                   uint64_t now);

}  // namespace cache_aware
