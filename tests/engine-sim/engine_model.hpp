#pragma once
// The engine model: continuous batching on a clock that the caller moves. No I/O, no time source.
//
// A job waits in order until the batch has room and its prompt fits into the KV blocks. Its prompt
// is then prefilled at the prefill rate, which the batch shares in order of admission; blocks found
// in the prefix cache need no prefill. From then on the job gets one token at the end of each step
// of the batch. A job that needs a block when none is available pushes the youngest job back into
// the queue, which later starts over with the prefill of its prompt and of what it had generated.
// Times are milliseconds.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "prefix_cache.hpp"

namespace smg::sim {

struct ModelSettings {
  std::uint32_t max_running = 64;   // requests in the batch, 1 or more
  std::uint32_t kv_blocks = 65536;  // 1 or more
  std::uint32_t block_size = 16;    // tokens
  double prefill_rate = 20000;      // tokens/s; 0 = at once
  double decode_ms = 10;            // length of a step with one job
  double decode_growth = 0;         // a step is longer by this share of decode_ms per further job
};

class Job {
 public:
  virtual ~Job() = default;
  // Token number `index` has been generated. A job with no tokens to generate gets only finished().
  virtual void token(std::uint32_t index) = 0;
  virtual void finished() = 0;

  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::vector<std::uint64_t>
      block_hashes;                 // of the prompt's full blocks, each covers all before it
  std::uint32_t cached_tokens = 0;  // set at admission

 private:
  friend class EngineModel;
  enum class State : std::uint8_t { Idle, Waiting, Prefill, Decode };
  State state_ = State::Idle;
  std::uint32_t generated_ = 0;
  std::size_t shared_blocks_ = 0;  // the first of block_hashes, pinned in the cache
  std::size_t private_blocks_ = 0;
  double prefill_left_ = 0;  // tokens
};

class EngineModel {
 public:
  explicit EngineModel(const ModelSettings& settings);

  const ModelSettings& settings() const { return settings_; }
  void change(const ModelSettings& settings, double now);
  // False when the job could never fit into the KV blocks. The job must outlive its finish or
  // cancel.
  bool submit(Job& job, double now);
  void cancel(Job& job, double now);
  // Runs everything that is due at or before `now`. When called more than 100 ms late it goes on
  // from `now`: an engine that got no CPU does not make up for it.
  void advance(double now);
  // When there is something to run next; infinite when there is nothing.
  double next_event() const;
  // A paused engine answers nothing, as one that is wedged.
  void pause(bool on, double now);
  bool paused() const { return paused_; }
  void flush_cache() { cache_.clear(); }

  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  std::uint64_t waiting_uncached_tokens() const;
  std::size_t used_blocks() const { return cache_.used(); }
  double token_usage() const;
  // Since the start, of all prompt tokens admitted.
  double hit_rate() const;
  std::uint64_t queried_tokens() const { return queried_tokens_; }
  std::uint64_t hit_tokens() const { return hit_tokens_; }
  std::uint64_t preemptions() const { return preemptions_; }
  std::uint64_t generated_tokens() const { return generated_tokens_; }

 private:
  std::size_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::size_t>((tokens + settings_.block_size - 1) / settings_.block_size);
  }
  bool admit_one();
  void admit();
  void end_prefill();
  void end_step();
  bool grow(Job& job);
  void preempt(Job& job);
  void release(Job& job);
  void drop(Job& job);
  void start_step();
  void start_prefill();
  void compact();

  ModelSettings settings_;
  PrefixCache cache_;
  std::deque<Job*> waiting_;
  std::vector<Job*> running_;  // in order of admission; null = gone in this step
  std::deque<Job*> prefilling_;
  double now_ = 0;
  double step_end_;
  double prefill_end_;
  bool paused_ = false;
  bool stepping_ = false;
  std::uint64_t queried_tokens_ = 0;
  std::uint64_t hit_tokens_ = 0;
  std::uint64_t preemptions_ = 0;
  std::uint64_t generated_tokens_ = 0;
};

}  // namespace smg::sim
