#include "host/routing/loop_state.hpp"

#include <charconv>
#include <utility>

#include "host/config/duration.hpp"

namespace smg {
LoopState::LoopState(Loop& of, Registry& fleet_registry, Families& metric_families,
                     std::shared_ptr<const Config> config, StickyKeys* sticky_keys,
                     std::atomic<std::uint32_t>& running_streams)
    : loop(of),
      registry(fleet_registry),
      families(metric_families),
      sticky(sticky_keys),
      table(of.index()),
      random(Loop::clock() ^ (std::uint64_t{of.index()} << 56)),
      client_abort_upload(families.http_client_aborts.with({"upload"})),
      client_abort_waiting(families.http_client_aborts.with({"waiting"})),
      client_abort_streaming(families.http_client_aborts.with({"streaming"})),
      send_retries(families.router_upstream_send_retries.with({"http"})),
      connections_active(families.worker_connections_active.with({"regular", "http"})),
      streams(running_streams),
      streams_active(families.http_streams_active),
      config_(std::move(config)),
      snapshot_(registry.snapshot()) {}

std::uint64_t LoopState::request_timeout() const {
  return seconds_to_ns(config_->server.request_timeout_secs);
}

std::unique_ptr<RequestBuffer> LoopState::take_buffer() {
  if (buffers_.empty()) return std::make_unique<RequestBuffer>();
  auto buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void LoopState::give_back(std::unique_ptr<RequestBuffer> buffer) {
  if (buffer == nullptr || buffers_.size() >= kKeptBuffers) return;
  buffer->reset();
  buffers_.push_back(std::move(buffer));
}

Series LoopState::upstream_response(std::uint32_t status) {
  Series& series = upstream_responses_[status % upstream_responses_.size()];
  if (!series) {
    series = families.router_upstream_responses.with({"http", std::to_string(status), ""});
  }
  return series;
}

}  // namespace smg
