#include "host/routing/request/body_edit.hpp"

#include <cassert>

#include "host/base/views.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The range to leave out so that a member is gone together with one comma. Members that are removed
// from the front of the object take the comma behind them, all others the one before.
BodySpan removal(std::string_view body, const BodyMember& member, bool at_front) {
  std::uint32_t begin = member.begin;
  std::uint32_t end = member.value.end();
  if (!at_front) {
    do --begin;
    while (is_space(body[begin]));
  } else {
    std::uint32_t next = end;
    while (is_space(body[next])) ++next;
    if (body[next] == ',') end = next + 1;
  }
  return {begin, end - begin};
}

const BodyChange* find_change(std::span<const BodyChange> changes, BodyKey key) {
  for (const BodyChange& change : changes) {
    if (change.key == key) return &change;
  }
  return nullptr;
}

}  // namespace

EditList plan_edits(std::string_view body, const RequestFacts& facts, bool strip,
                    std::span<const BodyChange> changes) {
  assert(changes.size() <= kMaxChanges);
  EditList list;
  const std::uint64_t stripped = strip ? facts.strip : 0;
  if (stripped == 0 && changes.empty()) return list;

  std::uint32_t removed = 0;
  for (std::uint32_t i = 0; i < facts.tracked_count; ++i) {
    const BodyMember& member = facts.tracked[i];
    const BodyChange* change = find_change(changes, member.key);
    if (change != nullptr && !change->json.empty()) {
      list.add({member.value.offset, member.value.size, view(change->json)});
    } else if (change != nullptr || (stripped & bit_of(member.key)) != 0) {
      const BodySpan gap = removal(body, member, member.ordinal == removed);
      list.add({gap.offset, gap.size, {}});
      ++removed;
    }
  }

  bool first = removed == facts.member_count;
  for (const BodyChange& change : changes) {
    if (change.json.empty() || !change.insert || facts.has(change.key)) continue;
    if (!first) list.add({facts.close, 0, view(",")});
    first = false;
    list.add({facts.close, 0, view(member_start(change.key))});
    list.add({facts.close, 0, view(change.json)});
  }
  return list;
}

std::uint64_t append_pieces(std::string_view body, const EditList& edits,
                            std::vector<smg_view>& pieces) {
  std::uint64_t total = 0;
  const auto add = [&](smg_view piece) {
    if (piece.size == 0) return;
    pieces.push_back(piece);
    total += piece.size;
  };
  std::size_t at = 0;
  for (const Edit& edit : edits.edits()) {
    add({body.data() + at, edit.offset - at});
    add(edit.text);
    at = edit.offset + edit.length;
  }
  add({body.data() + at, body.size() - at});
  return total;
}

std::uint64_t outbound_body(std::string_view body, const RequestFacts& facts,
                            std::string_view model, std::int64_t dp_rank, std::string& scratch,
                            std::vector<smg_view>& pieces) {
  std::array<BodyChange, 2> changes;
  std::size_t count = 0;
  scratch.clear();
  if (facts.has(BodyKey::model) && model != facts.model) append_quoted(scratch, model);
  const std::size_t model_size = scratch.size();
  if (dp_rank != kNoRank) scratch += std::to_string(dp_rank);

  const std::string_view texts = scratch;
  if (model_size > 0) changes[count++] = {BodyKey::model, texts.substr(0, model_size), false};
  if (dp_rank != kNoRank) {
    changes[count++] = {BodyKey::data_parallel_rank, texts.substr(model_size)};
  }
  return append_pieces(body, plan_edits(body, facts, true, {changes.data(), count}), pieces);
}

}  // namespace smg
