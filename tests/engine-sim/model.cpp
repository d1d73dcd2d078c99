#include "model.hpp"

#include <algorithm>
#include <functional>

namespace smg::sim {

void Model::arrive(std::uint64_t request, std::string_view prompt, std::uint32_t prompt_tokens) {
  Waiting entry{request, {}, prompt_tokens};
  const std::size_t piece = std::size_t{settings_.block_size} * 4;  // about four characters a token
  std::uint64_t chain = 1469598103934665603u;
  for (std::size_t at = 0; at + piece <= prompt.size(); at += piece) {
    chain = (chain ^ std::hash<std::string_view>()(prompt.substr(at, piece))) * 1099511628211u;
    entry.blocks.push_back(chain);
  }
  waiting_.push_back(std::move(entry));
}

std::optional<Model::Admission> Model::admit(std::uint64_t now) {
  if (waiting_.empty()) return std::nullopt;
  if (settings_.max_running > 0 && running_.size() >= settings_.max_running) return std::nullopt;
  Waiting& next = waiting_.front();
  const std::uint32_t held = blocks_for(next.tokens + 1);
  // One that is larger than the whole cache runs alone rather than never.
  if (used_blocks_ + held > settings_.kv_blocks && !running_.empty()) return std::nullopt;
  std::uint32_t cached = 0;
  for (const std::uint64_t block : next.blocks) {
    if (cached_.count(block) == 0) break;
    ++cached;
    touch(block);
  }
  const std::uint32_t cached_tokens = std::min(next.tokens, cached * settings_.block_size);
  seen_ += next.tokens;
  hits_ += cached_tokens;
  const double prefill = (next.tokens - cached_tokens) / settings_.prefill_rate * 1e6;
  Admission admission{next.request, now + static_cast<std::uint64_t>(prefill) + step(),
                      cached_tokens};
  used_blocks_ += held;
  running_.emplace(next.request, Running{std::move(next.blocks), next.tokens, held});
  waiting_.pop_front();
  trim();
  return admission;
}

std::uint64_t Model::step() const {
  const double others = running_.empty() ? 0 : static_cast<double>(running_.size() - 1);
  return static_cast<std::uint64_t>(settings_.decode_ms * 1000 *
                                    (1 + settings_.decode_growth * others));
}

void Model::token(std::uint64_t request) {
  ++made_;
  const auto found = running_.find(request);
  if (found == running_.end()) return;
  Running& entry = found->second;
  const std::uint32_t held = blocks_for(++entry.tokens);
  if (held <= entry.held) return;
  used_blocks_ += held - entry.held;
  entry.held = held;
  trim();
}

void Model::leave(std::uint64_t request) {
  const auto found = running_.find(request);
  if (found == running_.end()) {
    std::erase_if(waiting_, [&](const Waiting& entry) { return entry.request == request; });
    return;
  }
  used_blocks_ -= found->second.held;
  for (const std::uint64_t block : found->second.blocks) touch(block);
  running_.erase(found);
  trim();
}

std::uint32_t Model::waiting_tokens() const {
  std::uint32_t tokens = 0;
  for (const auto& entry : waiting_) tokens += entry.tokens;
  return tokens;
}

double Model::token_usage() const {
  return std::min(1.0,
                  static_cast<double>(used_blocks_) / static_cast<double>(settings_.kv_blocks));
}

void Model::touch(std::uint64_t block) {
  if (const auto known = cached_.find(block); known != cached_.end()) {
    lru_.splice(lru_.begin(), lru_, known->second);
    return;
  }
  lru_.push_front(block);
  cached_.emplace(block, lru_.begin());
}

void Model::trim() {
  const std::size_t room =
      settings_.kv_blocks > used_blocks_ ? settings_.kv_blocks - used_blocks_ : 0;
  while (cached_.size() > room) {
    cached_.erase(lru_.back());
    lru_.pop_back();
  }
}

}  // namespace smg::sim
