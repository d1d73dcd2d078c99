#pragma once
// The KV memory of an engine: a fixed number of blocks, some of them private to a request, some
// holding a block of a prompt that later requests with the same prefix may share. A shared block
// that nobody uses keeps its content, and counts as free, until its room is needed; the one unused
// for the longest time goes first.

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace smg::sim {

class PrefixCache {
 public:
  explicit PrefixCache(std::size_t blocks) : total_(blocks) {}

  std::size_t total() const { return total_; }
  std::size_t used() const { return private_ + pinned_; }
  std::size_t available() const { return used() < total_ ? total_ - used() : 0; }
  // A smaller total evicts unused blocks only; blocks in use stay until they are given back.
  void set_total(std::size_t blocks);

  // How many of the leading `hashes` are here, at most `limit`.
  std::size_t match(const std::vector<std::uint64_t>& hashes, std::size_t limit) const;
  // Of the first `count` of `hashes`, all of which are here: those that nobody uses. To pin them
  // costs as many available blocks.
  std::size_t unpinned(const std::vector<std::uint64_t>& hashes, std::size_t count) const;
  void pin(const std::vector<std::uint64_t>& hashes, std::size_t count);
  void unpin(const std::vector<std::uint64_t>& hashes, std::size_t count);

  // Takes private blocks; the caller has checked available().
  void take(std::size_t count);
  void give(std::size_t count) { private_ -= count; }
  // Turns a private block into a shared and pinned one; false when that content is here already.
  bool share(std::uint64_t hash);
  void clear();

 private:
  struct Block {
    std::size_t users = 0;
    std::list<std::uint64_t>::iterator idle;  // valid while users == 0
  };
  void evict();

  std::size_t total_;
  std::size_t private_ = 0;
  std::size_t pinned_ = 0;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::list<std::uint64_t> idle_;  // oldest first
};

}  // namespace smg::sim
