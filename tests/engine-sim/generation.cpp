#include "generation.hpp"

#include <cmath>
#include <ctime>

namespace smg::sim {

namespace {

constexpr double kMaxLateMs = 100;

// Events are put together here: a token is sent before the next one is made.
std::string piece;

}  // namespace

Generation::Generation(GenerationHost& host, Connection& connection,
                       std::unique_ptr<ApiRequest> request, std::string_view model,
                       std::uint64_t number)
    : host_(host),
      connection_(connection),
      request_(std::move(request)),
      format_(format_of(request_->api)),
      reply_(connection),
      timer_(connection.loop().timers(), &Generation::paced_token, this) {
  answer_.request = request_.get();
  answer_.id = std::string(format_.id_prefix()) + std::to_string(number);
  answer_.model = request_->model.empty() ? std::string(model) : request_->model;
  answer_.created = std::time(nullptr);
}

bool Generation::start_in_model() {
  prompt_tokens = request_->prompt_tokens;
  output_tokens = request_->tokens;
  block_hashes = std::move(request_->block_hashes);
  const double now = Loop::monotonic_ms();
  // The stream's head goes out before the first token, as engines do it, so the request must be
  // known to fit.
  const ModelSettings& settings = host_.model().settings();
  const std::uint64_t tokens = std::uint64_t{prompt_tokens} + output_tokens;
  if ((tokens + settings.block_size - 1) / settings.block_size > settings.kv_blocks) return false;
  in_model_ = true;
  host_.started(*this);
  if (request_->stream) open_stream();
  if (ended_) return true;
  host_.model().submit(*this, now);
  host_.model_changed();
  return true;
}

void Generation::start_paced(double interval_ms) {
  paced_ = true;
  host_.started(*this);
  if (connection_.effects != nullptr) interval_ms *= connection_.effects->interval_factor;
  interval_ms_ = interval_ms;
  if (request_->stream) open_stream();
  if (ended_) return;
  next_ms_ = Loop::monotonic_ms();
  if (!request_->stream) {
    // Only the end can be seen.
    next_ms_ += interval_ms_ * request_->tokens;
    next_token_ = request_->tokens;
    if (interval_ms_ <= 0 || request_->tokens == 0) return finish();
  } else {
    next_ms_ += interval_ms_;
  }
  timer_.arm(static_cast<std::int64_t>(std::ceil(next_ms_)));
}

void Generation::open_stream() {
  reply_.open(200, "text/event-stream; charset=utf-8", std::nullopt, request_->headers);
  if (ended_) return;
  piece.assign(kChunkGap, ' ');
  format_.open(answer_, piece);
  reply_.stream(piece);
}

void Generation::paced_token(void* self) {
  auto& generation = *static_cast<Generation*>(self);
  if (generation.request_->stream && generation.next_token_ < generation.request_->tokens) {
    // An interval of 0 sends all that a turn may send.
    for (int i = 0; i < 64 && !generation.ended_; ++i) {
      generation.token(generation.next_token_++);
      if (generation.interval_ms_ > 0 || generation.next_token_ >= generation.request_->tokens)
        break;
    }
    if (generation.ended_) return;
    if (generation.next_token_ < generation.request_->tokens) {
      // A stream that got no CPU for long does not make up for it.
      const double now = Loop::monotonic_ms();
      if (now - generation.next_ms_ > kMaxLateMs) generation.next_ms_ = now;
      generation.next_ms_ += generation.interval_ms_;
      generation.timer_.arm(static_cast<std::int64_t>(std::ceil(generation.next_ms_)));
      return;
    }
  }
  generation.finish();
}

void Generation::token(std::uint32_t index) {
  if (!request_->stream || reply_.cut_before(index)) return;
  if (index == 0) answer_.cached_tokens = cached_tokens;
  // The last token goes out with what ends the stream.
  piece.assign(kChunkGap, ' ');
  format_.token(answer_, index, piece);
  if (index + 1 < request_->tokens) reply_.stream(piece);
}

void Generation::finished() {
  answer_.cached_tokens = cached_tokens;
  finish();
}

void Generation::finish() {
  if (ended_) return;
  if (!request_->stream) {
    std::string body;
    format_.whole(answer_, body);
    ended_ = true;
    host_.ended(*this, true);
    return reply_.whole(200, "application/json", body, request_->headers);
  }
  if (reply_.cut_before(request_->tokens)) return;
  if (request_->tokens == 0) piece.assign(kChunkGap, ' ');
  format_.close(answer_, piece);
  std::string wire(reply_.frame(piece));
  wire.append(reply_.terminator());
  ended_ = true;
  host_.ended(*this, true);
  connection_.send(wire);
  reply_.end_framed();
}

void Generation::stop() {
  timer_.cancel();
  if (ended_) return;
  ended_ = true;
  if (in_model_) {
    host_.model().cancel(*this, Loop::monotonic_ms());
    host_.model_changed();
  }
  host_.ended(*this, false);
}

}  // namespace smg::sim
