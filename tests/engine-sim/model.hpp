// A believable inference engine, without I/O: a batch of fixed size, a queue in front of it, KV
// blocks, a prefix cache.
//
// A request is admitted when the batch has room and its prompt's blocks fit; else it waits in
// order. Prefill takes the time that its uncached prompt tokens need at the prefill rate; then one
// token comes per step. Blocks of ended requests stay as a prefix cache until their room is needed,
// the least recently used first. Times are microseconds given by the caller.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smg::sim {

struct ModelSettings {
  std::uint32_t max_running = 64;
  std::uint32_t kv_blocks = 65536;
  std::uint32_t block_size = 16;  // tokens
  double prefill_rate = 20000;    // tokens/s
  double decode_ms = 10;          // per token and request
  double decode_growth = 0;  // more per token for each other running request, share of decode_ms
};

class Model {
 public:
  explicit Model(const ModelSettings& settings) : settings_(settings) {}

  struct Admission {
    std::uint64_t request;
    std::uint64_t first_token_at;
    std::uint32_t cached_tokens;
  };

  // Queues a request; admit() tells when it runs.
  void arrive(std::uint64_t request, std::string_view prompt, std::uint32_t prompt_tokens);
  // The next one that may run now.
  std::optional<Admission> admit(std::uint64_t now);
  // Microseconds from one token of a running request to its next.
  std::uint64_t step() const;
  // One more token is held for it.
  void token(std::uint64_t request);
  // Ended, or given up, wherever it was.
  void leave(std::uint64_t request);

  std::uint32_t running() const { return static_cast<std::uint32_t>(running_.size()); }
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(waiting_.size()); }
  std::uint32_t waiting_tokens() const;
  std::uint32_t used_blocks() const { return used_blocks_; }
  double token_usage() const;
  double hit_rate() const {
    return seen_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(seen_);
  }
  std::uint64_t tokens_made() const { return made_; }
  const ModelSettings& settings() const { return settings_; }
  ModelSettings& settings() { return settings_; }

 private:
  struct Waiting {
    std::uint64_t request;
    std::vector<std::uint64_t>
        blocks;  // hashes of the prompt's full blocks, each of all before it too
    std::uint32_t tokens;
  };
  struct Running {
    std::vector<std::uint64_t> blocks;
    std::uint32_t tokens;
    std::uint32_t held;  // blocks
  };
  std::uint32_t blocks_for(std::uint32_t tokens) const {
    return (tokens + settings_.block_size - 1) / settings_.block_size;
  }
  void touch(std::uint64_t block);
  void trim();

  ModelSettings settings_;
  std::deque<Waiting> waiting_;
  std::unordered_map<std::uint64_t, Running> running_;
  std::list<std::uint64_t> lru_;  // cached blocks, the most recent in front
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> cached_;
  std::uint32_t used_blocks_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace smg::sim
