#include "state.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cache_aware {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

using Members = std::vector<std::pair<std::string, Tenant>>;

uint64_t since(uint64_t time, uint64_t now) {
  return now - std::min(time, now);
}

// The places of tenants in a list of workers.
class Places {
 public:
  explicit Places(const Members& members) {
    for (uint32_t i = 0; i < members.size(); ++i) {
      const Tenant tenant = members[i].second;
      if (tenant.slot >= by_slot_.size()) by_slot_.resize(tenant.slot + std::size_t{1});
      by_slot_[tenant.slot] = {i, tenant.generation};
    }
  }
  std::optional<uint32_t> operator()(Tenant tenant) const {
    if (tenant.slot >= by_slot_.size()) return std::nullopt;
    const auto& [place, generation] = by_slot_[tenant.slot];
    if (generation == 0 || generation != tenant.generation) return std::nullopt;
    return place;
  }

 private:
  std::vector<std::pair<uint32_t, uint32_t>> by_slot_;  // place, generation
};

void export_placement(const Placement& placement, const Places& places, uint64_t now,
                      smg::StateWriter& writer) {
  placement.for_each([&](const PlacementKey& key, Tenant worker, uint64_t last_use) {
    const std::optional<uint32_t> place = places(worker);
    if (!place) return;
    writer.number(1);
    writer.word(key.hash);
    writer.number(key.boundary);
    writer.number(*place);
    writer.number(since(last_use, now));
  });
  writer.number(0);
}

void export_index(const PositionalIndex& index, const Members& members, uint64_t now,
                  smg::StateWriter& writer) {
  writer.number(index.block_size());
  for (const auto& [url, tenant] : members) {
    const std::vector<BookedBlock> blocks = index.blocks_of(tenant);
    writer.number(blocks.size());
    for (const BookedBlock& block : blocks) {
      writer.word(block.engine_hash);
      writer.word(block.prefix_hash);
      writer.number(since(block.last_use, now / kSecond));
    }
  }
}

void export_model(const ModelState& model, uint32_t block_size, uint64_t now,
                  smg::StateWriter& writer) {
  const Members members = model.tenants.all();
  const Places places(members);
  writer.text(model.name);
  writer.number(members.size());
  for (const auto& [url, tenant] : members) writer.text(url);
  writer.number(block_size);
  model.strings.export_state(writer, places);
  model.tokens.export_state(writer, places);
  export_placement(model.placement, places, now, writer);
  export_index(model.index, members, now, writer);
}

// From the places in the state's list to the workers here.
std::vector<Tenant> import_members(smg::StateReader& reader, const ModelState* model) {
  std::vector<Tenant> tenants(reader.count(1));
  for (Tenant& tenant : tenants) {
    const std::string_view url = reader.text();
    if (model != nullptr) tenant = model->tenants.find(url).value_or(Tenant{});
  }
  return tenants;
}

void import_placement(smg::StateReader& reader, std::span<const Tenant> tenants, uint64_t now,
                      Placement* placement) {
  while (reader.number(1) == 1) {
    const uint64_t hash = reader.word();
    const auto boundary = static_cast<uint32_t>(reader.number(UINT32_MAX));
    const uint64_t place = reader.number();
    const uint64_t age = reader.number();
    if (placement == nullptr || place >= tenants.size()) continue;
    placement->record({hash, boundary}, tenants[place], since(age, now));
  }
}

void import_index(smg::StateReader& reader, std::span<const Tenant> tenants, uint64_t now,
                  PositionalIndex* index) {
  constexpr std::size_t kLeastBytes = 17;
  const auto block_size = static_cast<uint32_t>(reader.number(UINT32_MAX));
  std::vector<BookedBlock> blocks;
  for (const Tenant tenant : tenants) {
    blocks.resize(reader.count(kLeastBytes));
    for (BookedBlock& block : blocks) {
      block.engine_hash = reader.word();
      block.prefix_hash = reader.word();
      block.last_use = static_cast<uint32_t>(since(reader.number(), now / kSecond));
    }
    if (index != nullptr) index->restore(tenant, block_size, blocks);
  }
}

// Into no model: only looks whether it could be read.
void import_model(smg::StateReader& reader, const Settings& settings, ModelState* model,
                  uint64_t now) {
  const std::vector<Tenant> tenants = import_members(reader, model);
  const std::span<const Tenant> nobody;
  const bool trees = model != nullptr && !settings.hash_placement;
  const auto pages = static_cast<uint32_t>(reader.number(UINT32_MAX));
  if (trees) {
    model->strings.import_state(reader, tenants);
  } else {
    smg::prefix_tree::StringTree().import_state(reader, nobody);
  }
  // Pages of another size cannot be looked up.
  if (trees && pages == settings.block_size) {
    model->tokens.import_state(reader, tenants);
  } else {
    smg::prefix_tree::TokenTree(pages).import_state(reader, nobody);
  }
  const bool hashes = model != nullptr && settings.hash_placement;
  import_placement(reader, tenants, now, hashes ? &model->placement : nullptr);
  import_index(reader, tenants, now, model != nullptr ? &model->index : nullptr);
}

void import_all(smg::StateReader reader, const Settings& settings, const Models::List& models,
                uint64_t now) {
  constexpr std::size_t kLeastBytes = 7;
  for (std::size_t left = reader.count(kLeastBytes); left > 0; --left) {
    const std::string_view name = reader.text();
    const auto known = std::find_if(models.begin(), models.end(),
                                    [&](const auto& model) { return model->name == name; });
    import_model(reader, settings, known != models.end() ? known->get() : nullptr, now);
  }
  reader.end();
}

}  // namespace

void export_models(const Models& models, const Settings& settings, uint64_t now,
                   smg::StateWriter& writer) {
  const std::shared_ptr<const Models::List> list = models.list();
  writer.number(list->size());
  for (const auto& model : *list) export_model(*model, settings.block_size, now, writer);
}

void import_models(std::string_view state, const Settings& settings, const Models& models,
                   uint64_t now) {
  const std::shared_ptr<const Models::List> list = models.list();
  try {
    import_all(smg::StateReader(state), settings, *list, now);
  } catch (...) {
    for (const auto& model : *list) model->forget();
    throw;
  }
  for (const auto& model : *list) {
    model->clean_up(now);
    model->index.prune(static_cast<uint32_t>(now / kSecond), settings.kv_indexer_ttl,
                       settings.kv_indexer_max_entries);
  }
}

}  // namespace cache_aware
