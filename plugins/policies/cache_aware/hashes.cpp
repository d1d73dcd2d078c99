#include "hashes.hpp"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cache_aware {
namespace {

constexpr uint64_t kBlockSeed = 1337;
static_assert(std::endian::native == std::endian::little, "ids are hashed as they lie in memory");

}  // namespace

uint64_t content_hash(std::span<const uint32_t> block) {
  return XXH3_64bits_withSeed(block.data(), block.size_bytes(), kBlockSeed);
}

uint64_t prefix_hash(uint64_t before, uint64_t content) {
  const uint64_t pair[] = {before, content};
  return XXH3_64bits_withSeed(pair, sizeof pair, kBlockSeed);
}

void hash_chain(std::span<const uint32_t> tokens, uint32_t block_size,
                std::vector<uint64_t>& chain) {
  chain.clear();
  if (block_size == 0) return;
  const std::size_t blocks = tokens.size() / block_size;
  chain.reserve(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const uint64_t content = content_hash(tokens.subspan(i * block_size, block_size));
    chain.push_back(i == 0 ? content : prefix_hash(chain.back(), content));
  }
}

uint64_t prompt_hash(std::span<const uint32_t> tokens, uint64_t namespace_hash) {
  return XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), namespace_hash);
}

uint64_t namespace_hash(std::string_view name) {
  if (name.empty()) return 0;
  const uint64_t hash = XXH3_64bits(name.data(), name.size());
  return hash != 0 ? hash : 1;
}

}  // namespace cache_aware
