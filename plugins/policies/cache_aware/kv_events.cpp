#include "kv_events.hpp"

#include "smg/cpp/view.hpp"

namespace cache_aware {

void apply(const smg_event_kv& event, const Models& models, uint32_t now) {
  const std::span<const uint64_t> hashes(event.blocks, event.block_count);
  StoredBlocks blocks{.engine_hashes = hashes,
                      .parent = std::nullopt,
                      .tokens = {event.tokens, event.tokens != nullptr ? event.token_count : 0},
                      .block_size = event.block_size};
  if (event.parent != 0) blocks.parent = event.parent;
  for (const auto& model : *models.list()) {
    const std::optional<Tenant> worker = model->tenants.find(smg::text(event.event.worker_url));
    if (!worker) continue;
    switch (event.action) {
      case SMG_KV_STORED:
        model->index.stored(*worker, blocks, now);
        break;
      case SMG_KV_REMOVED:
        model->index.removed(*worker, hashes);
        break;
      case SMG_KV_CLEARED:
        model->index.cleared(*worker);
        break;
      default:
        break;
    }
  }
}

}  // namespace cache_aware
