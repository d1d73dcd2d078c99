// A body in memory that ends exactly at its slack, read by a reader of its own.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/request_reader.hpp"
#include "smg/policy.h"

namespace smg::testing {

inline constexpr std::uint32_t kText = SMG_NEEDS_TEXT;
inline constexpr std::uint32_t kTokens = SMG_NEEDS_TOKENS;

class Reading {
 public:
  Reading(std::string_view text, std::uint32_t endpoint, std::uint32_t needs = 0)
      : Reading(text, endpoint, extractor_of(endpoint), needs) {}
  Reading(std::string_view text, std::uint32_t endpoint, Extractor extractor, std::uint32_t needs,
          char slack = '\0')
      : memory_(new char[text.size() + kBodySlack]), body(memory_.get(), text.size()) {
    std::memcpy(memory_.get(), text.data(), text.size());
    std::memset(memory_.get() + text.size(), slack, kBodySlack);
    RequestReader reader;
    error = reader.read(body, endpoint, extractor, needs, facts, input);
  }

 private:
  std::unique_ptr<char[]> memory_;

 public:
  std::string_view body;
  RequestFacts facts;
  RoutingInput input;
  BodyError error;
};

inline std::string joined(const std::vector<smg_view>& pieces) {
  std::string all;
  for (const smg_view& piece : pieces) all.append(piece.data, piece.size);
  return all;
}

// What goes to a worker of the regular path; model and rank as in outbound_body.
inline std::string outbound(const Reading& reading, std::string_view model,
                            std::int64_t dp_rank = kNoRank) {
  std::string scratch;
  std::vector<smg_view> pieces;
  const std::uint64_t size =
      outbound_body(reading.body, reading.facts, model, dp_rank, scratch, pieces);
  std::string all = joined(pieces);
  CHECK(all.size() == size);
  return all;
}

}  // namespace smg::testing
