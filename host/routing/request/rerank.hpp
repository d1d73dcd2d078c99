// Rerank: the short request form and the answer that the gateway builds. Off the hot path. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/request/request_facts.hpp"
#include "smg/abi.h"

namespace smg {

// The part of a rerank request that its answer needs; a copy, so the body may go.
struct RerankTerms {
  std::string model;        // as the answer states it
  std::string id;           // JSON of the request's rid; empty: none
  std::uint64_t top_k = 0;  // 0: all
  bool return_documents = true;
};

RerankTerms rerank_terms(std::string_view body, const RequestFacts& facts, std::string_view model);

// POST /v1/rerank to a rerank request: query and documents as they are, model "unknown",
// return_documents true. `dp_rank` as in outbound_body. `scratch` takes inserted text. Returns the
// size of the body.
std::uint64_t short_rerank_body(std::string_view body, const RequestFacts& facts,
                                std::int64_t dp_rank, std::string& scratch,
                                std::vector<smg_view>& pieces);

// A worker's result array to the gateway's answer. False, with `answer` untouched, when it is not
// an array of {score, index, ...}. `created` in seconds since 1970.
bool build_rerank_answer(std::string_view worker_body, const RerankTerms& terms,
                         std::int64_t created, std::string& answer);

}  // namespace smg
