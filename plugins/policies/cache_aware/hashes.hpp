// The hashes of cache_aware: blocks of tokens, prefixes of blocks, prompts and cache namespaces.
//
//   content hash of a block   c = XXH3-64(little-endian ids, seed 1337), wherever the block stands
//   prefix hash of block i    p0 = c0, pi = XXH3-64(LE64(pi-1) LE64(ci), seed 1337)
//
// A prefix hash names the block, its position and all that is before it. Pure functions; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cache_aware {

uint64_t content_hash(std::span<const uint32_t> block);

// `before`: prefix hash of the block before.
uint64_t prefix_hash(uint64_t before, uint64_t content);

// The prefix hashes of all whole blocks of `tokens`, in `chain`; none if `block_size` is 0.
void hash_chain(std::span<const uint32_t> tokens, uint32_t block_size,
                std::vector<uint64_t>& chain);

// Of the first tokens of a prompt: XXH3-64 of their little-endian bytes, seed 0. Another
// `namespace_hash` gives another hash; 0 stands for the common namespace.
uint64_t prompt_hash(std::span<const uint32_t> tokens, uint64_t namespace_hash);

// 0 for the common namespace, which has no name; never 0 for another.
uint64_t namespace_hash(std::string_view name);

}  // namespace cache_aware
