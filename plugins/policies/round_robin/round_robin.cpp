// round_robin: eligible workers in turn, one rotation for each set of workers.
#include <functional>

#include "rotations.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/policy.hpp"

namespace {

class RoundRobin {
 public:
  explicit RoundRobin(smg::Host host) : eligible_(host) {}

  std::optional<uint32_t> select(const smg::Request&, const smg::Pool& pool) {
    return eligible_.choose(pool, [&](auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      Turns& turns = entry.extra;
      if (entry.fresh) turns.set = identity(pool, entry.indices);
      if (turns.rotation == nullptr || !turns.rotation->is(turns.set)) {
        turns.rotation = &rotations_.find(turns.set);
      }
      return entry.indices[turns.rotation->next(rotations_.tick()) % entry.indices.size()];
    });
  }

  // Rises when identity() changes, too.
  static constexpr std::string_view kStateFormat = "round_robin/1";
  void export_state(smg::StateWriter& writer) const { rotations_.export_state(writer); }
  void import_state(std::string_view format, std::string_view state) {
    smg::require_format(format, kStateFormat);
    rotations_.import_state(smg::StateReader(state));
  }

 private:
  struct Turns {
    uint64_t set = 0;
    round_robin::Rotation* rotation = nullptr;
  };

  // 64 bits for the ordered URLs: should two sets ever collide, they share a rotation and nothing
  // worse.
  static uint64_t identity(const smg::Pool& pool, const std::vector<uint32_t>& indices) {
    uint64_t hash = indices.size();
    for (const uint32_t index : indices) {
      hash ^= std::hash<std::string_view>()(smg::text(pool.worker(index).url));
      hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    }
    return hash;
  }

  round_robin::Rotations rotations_;
  smg::EligibleCache<Turns> eligible_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<RoundRobin>(
    {.name = "round_robin",
     .version = "1.0",
     .vendor = "smg",
     .summary = "eligible workers in turn, one rotation for each set of workers"}));
