#include "model_state.hpp"

#include <utility>

#include "smg/cpp/view.hpp"

namespace cache_aware {

ModelState::ModelState(std::string model, const Settings& settings, const ModelGauges& gauges)
    : name(std::move(model)),
      tokens(settings.block_size),
      placement(tenants, settings.cache_ttl),
      index(tenants),
      max_tree_size_(settings.max_tree_size),
      gauges_(gauges) {}

void ModelState::set_members(const smg_pool& pool) {
  for (uint32_t i = 0; i < pool.count; ++i) {
    const smg_worker& worker = *pool.workers[i];
    if (worker.slot >= Tenants::kMaxSlots) continue;
    if (worker.slot >= members_.size()) members_.resize(worker.slot + 1);
    Member& member = members_[worker.slot];
    if (member.present && member.url == smg::text(worker.url)) member.stays = true;
  }
  // First those who leave: their slots may be others' now.
  for (Member& member : members_) {
    if (member.present && !member.stays) leave(member);
    member.stays = false;
  }
  for (uint32_t i = 0; i < pool.count; ++i) {
    const smg_worker& worker = *pool.workers[i];
    if (worker.slot >= Tenants::kMaxSlots) continue;
    Member& member = members_[worker.slot];
    if (!member.present) join(member, worker);
  }
}

void ModelState::drop() {
  for (Member& member : members_) {
    if (member.present) leave(member);
  }
  clean_up(0);
}

void ModelState::forget() {
  strings.evict(0);
  tokens.evict(0);
  placement.clear();
  for (const auto& [url, tenant] : tenants.all()) index.cleared(tenant);
}

void ModelState::join(Member& member, const smg_worker& worker) {
  member.url = smg::text(worker.url);
  member.tenant = tenants.add(worker.slot, member.url);
  member.present = true;
  strings.add_tenant(member.tenant);
  tokens.add_tenant(member.tenant);
}

void ModelState::leave(Member& member) {
  tenants.remove(member.tenant, member.url);
  strings.remove_tenant(member.tenant);
  tokens.remove_tenant(member.tenant);
  placement.forget(member.tenant);
  index.forget(member.tenant);
  member.present = false;
}

Tenant ModelState::tenant_of(const smg_worker& worker) const {
  if (worker.slot >= members_.size()) return {};
  const Member& member = members_[worker.slot];
  return member.present && member.url == smg::text(worker.url) ? member.tenant : Tenant{};
}

void ModelState::clean_up(uint64_t now) {
  strings.evict(max_tree_size_);
  tokens.evict(max_tree_size_);
  placement.sweep(now);
  gauges_.chars.set(static_cast<double>(strings.size()));
  gauges_.tokens.set(static_cast<double>(tokens.size()));
  gauges_.string_tenants.set(static_cast<double>(strings.tenant_count()));
  gauges_.token_tenants.set(static_cast<double>(tokens.tenant_count()));
  gauges_.placements.set(static_cast<double>(placement.size()));
}

}  // namespace cache_aware
