// From candidates with overlap scores to the group that may take the request: section 6.6.7 of the
// policies page.
//
// Decay divides the score of a worker with a longer queue of prompt tokens than the shortest among
// the candidates; those without a report keep theirs. The group is then all that have the highest
// score, or, with a temperature, all that have the score of one that is drawn: softmax over the
// scores, scaled to 0..1. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "smg/cpp/policy.hpp"

namespace cache_aware {

struct Candidate {
  uint32_t index;  // in the pool
  double score;    // of overlap, above 0
};

// What the queues in front of the workers cost their scores. `request_blocks` at least 1.
void decay_scores(std::vector<Candidate>& candidates, const smg::Pool& pool, double decay,
                  double block_size, double request_blocks);

// Leaves the indices of the group in `group`. `random`: 64 random bits, for a temperature above 0.
void pick_group(const std::vector<Candidate>& candidates, double temperature, uint64_t random,
                std::vector<uint32_t>& group);

}  // namespace cache_aware
