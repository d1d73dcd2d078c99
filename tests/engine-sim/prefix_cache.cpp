#include "prefix_cache.hpp"

#include <algorithm>

namespace smg::sim {

void PrefixCache::set_total(std::size_t blocks) {
  total_ = blocks;
  evict();
}

std::size_t PrefixCache::match(const std::vector<std::uint64_t>& hashes, std::size_t limit) const {
  std::size_t count = 0;
  const std::size_t most = std::min(hashes.size(), limit);
  while (count < most && blocks_.contains(hashes[count])) ++count;
  return count;
}

std::size_t PrefixCache::unpinned(const std::vector<std::uint64_t>& hashes,
                                  std::size_t count) const {
  std::size_t idle = 0;
  for (std::size_t i = 0; i < count; ++i) idle += blocks_.at(hashes[i]).users == 0 ? 1 : 0;
  return idle;
}

void PrefixCache::pin(const std::vector<std::uint64_t>& hashes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Block& block = blocks_.at(hashes[i]);
    if (block.users++ > 0) continue;
    idle_.erase(block.idle);
    ++pinned_;
  }
}

void PrefixCache::unpin(const std::vector<std::uint64_t>& hashes, std::size_t count) {
  // The end of a prompt is of use to fewer requests than its beginning: it becomes idle first.
  for (std::size_t i = count; i-- > 0;) {
    Block& block = blocks_.at(hashes[i]);
    if (--block.users > 0) continue;
    block.idle = idle_.insert(idle_.end(), hashes[i]);
    --pinned_;
  }
  evict();
}

void PrefixCache::take(std::size_t count) {
  private_ += count;
  evict();
}

bool PrefixCache::share(std::uint64_t hash) {
  const auto [place, added] = blocks_.try_emplace(hash);
  if (!added) return false;
  place->second.users = 1;
  --private_;
  ++pinned_;
  return true;
}

void PrefixCache::clear() {
  for (const std::uint64_t hash : idle_) blocks_.erase(hash);
  idle_.clear();
}

void PrefixCache::evict() {
  while (!idle_.empty() && used() + idle_.size() > total_) {
    blocks_.erase(idle_.front());
    idle_.pop_front();
  }
}

}  // namespace smg::sim
