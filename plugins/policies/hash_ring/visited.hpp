// The members that a walk has been to. Starting anew costs nothing, so that one object serves many
// walks; it allocates only when it meets a larger ring than before. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace smg {

class Visited {
 public:
  // Forgets all. Members are numbered below `count`.
  void restart(std::size_t count) {
    if (marks_.size() < count) marks_.resize(count);
    if (++walk_ == 0) {
      std::fill(marks_.begin(), marks_.end(), 0);
      walk_ = 1;
    }
  }

  // True at the first call for this member. REQUIRES: member < count of restart().
  bool add(uint32_t member) {
    if (marks_[member] == walk_) return false;
    marks_[member] = walk_;
    return true;
  }

 private:
  std::vector<uint32_t> marks_;  // the last walk that came by
  uint32_t walk_ = 0;
};

}  // namespace smg
