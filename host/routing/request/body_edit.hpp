// Edits of a body as splices: ranges of its bytes that are left out or replaced, in order. All else
// keeps its bytes.
//
// Nothing is copied: pieces point into the body, into static text, and into the texts of the
// changes, all of which must outlive them. Pure functions, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/routing/request/request_facts.hpp"
#include "smg/abi.h"

namespace smg {

// Instead of `length` bytes at `offset` comes `text`.
struct Edit {
  std::uint32_t offset;
  std::uint32_t length;
  smg_view text;
};

// A wish for one tracked key: its value becomes `json`, or the key goes away when that is empty.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order in which it is written
struct BodyChange {
  BodyKey key;
  std::string_view json;
  bool insert = true;  // add the key when the body does not have it
};

inline constexpr std::size_t kMaxChanges = 8;

class EditList {
 public:
  EditList() {}  // NOLINT(modernize-use-equals-default): the room is not worth clearing
  std::span<const Edit> edits() const { return {edits_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  // REQUIRES: not before the end of the last one.
  void add(Edit edit) { edits_[size_++] = edit; }

 private:
  // An inserted key is three edits: comma, name, value.
  std::array<Edit, RequestFacts::kMaxMembers + 3 * kMaxChanges> edits_;
  std::size_t size_ = 0;
};

// `strip` asks for the removal of facts.strip; a change of the same key beats it. Repeated keys are
// treated alike in all their occurrences. REQUIRES: at most kMaxChanges, each of a tracked key,
// none twice.
EditList plan_edits(std::string_view body, const RequestFacts& facts, bool strip,
                    std::span<const BodyChange> changes);

// Appends the edited body's pieces; returns the sum of their sizes. Empty pieces are left out.
std::uint64_t append_pieces(std::string_view body, const EditList& edits,
                            std::vector<smg_view>& pieces);

inline constexpr std::int64_t kNoRank = -1;

// The body that goes to a worker of the regular path: stripped, an existing model rewritten to
// `model` (the canonical id), and data_parallel_rank set unless `dp_rank` is kNoRank. `scratch`
// takes the inserted texts, its content is replaced. Returns the size of the body.
std::uint64_t outbound_body(std::string_view body, const RequestFacts& facts,
                            std::string_view model, std::int64_t dp_rank, std::string& scratch,
                            std::vector<smg_view>& pieces);

}  // namespace smg
