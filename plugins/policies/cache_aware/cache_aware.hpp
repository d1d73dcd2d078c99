// cache_aware: a worker that is likely to hold the beginning of the prompt in its KV cache, unless
// it is too busy; otherwise the one with the shortest expected wait. Section 6.6 of the policies
// page.
//
// Who holds what is known from what was sent where (prefix trees, or hash placement if so
// configured) or, for prompts given as tokens, from what engines say about their caches. Each way
// ends in a group of workers; the spill gate fixes who of them may take the request, and one
// expected-wait choice among those books it.
//
// select() on every loop, pool_changed() on the control thread, on_event() on the bus thread; a
// thread of its own keeps memory within the budgets (evictor.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evictor.hpp"
#include "expected_wait.hpp"
#include "kv_pressure.hpp"
#include "models.hpp"
#include "overlap.hpp"
#include "partition.hpp"
#include "settings.hpp"
#include "smg/cpp/bus.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/policy.hpp"
#include "spill_gate.hpp"
#include "state.hpp"

namespace cache_aware {

class CacheAware {
 public:
  static constexpr uint32_t kNeeds = SMG_NEEDS_TEXT | SMG_NEEDS_TOKENS | SMG_NEEDS_LOADS;

  // Throws smg::Error if the options do not go together.
  explicit CacheAware(smg::Host host);

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool);
  void pool_changed(const smg_pool* before, const smg_pool* after) {
    models_.pool_changed(before, after);
  }
  void on_event(const smg_event& event) noexcept;

  // Trees, placements and engines' blocks; what the expected wait has been told lately is not worth
  // it.
  static constexpr std::string_view kStateFormat = cache_aware::kStateFormat;
  void export_state(smg::StateWriter& writer) const {
    export_models(models_, settings_, clock_.now(), writer);
  }
  void import_state(std::string_view format, std::string_view state) {
    smg::require_format(format, kStateFormat);
    import_models(state, settings_, models_, clock_.now());
  }

  // For tests.
  const Models& models() const { return models_; }

 private:
  // What a loop keeps with its list of a pool's eligible workers.
  struct Known {
    std::shared_ptr<const PoolMap> map;
    SlotBits slots;  // of the eligible workers; made when first needed
  };
  // Memory of a loop for one choice at a time.
  struct Room {
    std::vector<uint32_t> group;
    bool shared = false;  // the group is of those who hold what many prompts begin with
    std::vector<uint32_t> cool;
    std::vector<Candidate> candidates;
    std::vector<uint64_t> chain;
    IndexSearch search;
    std::string text;
    std::vector<uint32_t> tokens;
    void shrink();  // a giant prompt does not pin its memory
  };
  struct Call {
    const smg::Request& request;
    const smg::Pool& pool;
    std::span<const uint32_t> eligible;
    Known& known;
    Room& room;
    const PoolMap& map() const { return *known.map; }
  };
  struct Branches {
    explicit Branches(const smg::Family& family);
    smg::Series tree_match, spill, fallback, first_healthy;
  };

  std::optional<uint32_t> decide(Call& call);
  std::optional<uint32_t> shortest_wait(Call& call, std::span<const uint32_t> candidates);
  SpillGate::Verdict admit(Call& call) const;
  void make_group(Call& call, uint32_t block_size, uint64_t request_blocks) const;
  template <class Tree, class Input>
  std::optional<uint32_t> by_tree(Call& call, Tree& tree, const PartitionedKey<Input>& key,
                                  bool pressure);
  void find_holders(Call& call, const smg::prefix_tree::Match& match, uint64_t marker) const;
  std::optional<uint32_t> by_events(Call& call);
  std::optional<uint32_t> by_placement(Call& call);

  const Settings settings_;
  const SpillGate gate_;
  const KvPressure pressure_;
  const smg::Clock clock_;
  const smg::Loop loop_;
  const Branches branches_;
  const smg::Series match_ratio_;
  Models models_;
  smg::ExpectedWait wait_{smg::ExpectedWaitTunables{}};
  smg::EligibleCache<Known> eligible_;
  std::vector<Room> rooms_;  // for each loop, and for all other threads, who take turns as there
  Evictor evictor_;
  smg::Subscription kv_blocks_;
};

}  // namespace cache_aware
