// manual: a routing key stays with the worker that it was assigned first, as long as that one is
// eligible. New workers move no key; a worker that comes back gets its keys back.
#include "assignment.hpp"
#include "pool_index.hpp"
#include "smg/cpp/clock.hpp"
#include "smg/cpp/eligible.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/metrics.hpp"
#include "smg/cpp/options.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/cpp/sticky_map.hpp"

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

constexpr smg_view kAssignments[] = {smg::view("random"), smg::view("min_load"),
                                     smg::view("min_group"), smg::view("delegate")};

constexpr smg_option kOptions[] = {
    smg::int_option("eviction_interval_secs",
                    {.initial = "120",
                     .help = "Seconds between two sweeps for idle routing keys; 0 never sweeps",
                     .minimum = 0,
                     .maximum = 4294967295,
                     .flag = "eviction-interval",
                     .label_default = "60"}),
    smg::int_option("max_idle_secs",
                    {.initial = "14400",
                     .help = "Seconds without a request after which a routing key is forgotten; 0 "
                             "forgets none",
                     .minimum = 0,
                     .maximum = 4294967295,
                     .flag = "max-idle-secs,sticky-key-idle-secs"}),
    smg::string_option("assignment_mode",
                       {.initial = "\"random\"",
                        .help = "How a new routing key gets its worker; delegate means min_load",
                        .choices = kAssignments,
                        .flag = "assignment-mode"}),
};

class Manual {
 public:
  static constexpr uint32_t kNeeds = SMG_KEEPS_ROUTING_KEYS;

  explicit Manual(smg::Host host)
      : clock_(host), loop_(host), eligible_(host), branches_(host), entries_(entries_of(host)) {
    const smg::Options options(host);
    assignment_ = manual::assignment_of(options.get_string("assignment_mode"));
    sweep_interval_ = kSecond * static_cast<uint64_t>(options.get_int("eviction_interval_secs"));
    max_idle_ = kSecond * static_cast<uint64_t>(options.get_int("max_idle_secs"));
    if (sweep_interval_ > 0 && max_idle_ > 0) loop_.set(sweep_, clock_.now() + sweep_interval_);
  }
  ~Manual() { loop_.clear(sweep_); }

  std::optional<uint32_t> select(const smg::Request& request, const smg::Pool& pool) {
    const smg::Series* branch = &branches_.no_healthy_workers;
    const auto choice = eligible_.choose(pool, [&](auto& entry) -> std::optional<uint32_t> {
      if (entry.indices.empty()) return std::nullopt;
      const auto assign = [&] {
        return manual::assign(assignment_, request.random(), pool, entry.indices);
      };
      if (request.routing_key().empty()) {
        branch = &branches_.no_routing_id;
        return assign();
      }
      if (entry.extra == nullptr) entry.extra = indexes_.find(pool.raw());
      return stick(request, pool, *entry.extra, assign, branch);
    });
    branch->add();
    entries_.set(static_cast<double>(keys_.size()));
    return choice;
  }

  void pool_changed(const smg_pool* before, const smg_pool* after) {
    indexes_.pool_changed(before, after);
  }

  // Keys with their workers, those that are away as well.
  static constexpr std::string_view kStateFormat = "manual/1";
  void export_state(smg::StateWriter& writer) const { keys_.export_state(writer, clock_.now()); }
  void import_state(std::string_view format, std::string_view state) {
    smg::require_format(format, kStateFormat);
    smg::StateReader reader(state);
    keys_.import_state(reader, clock_.now());
    entries_.set(static_cast<double>(keys_.size()));
  }

 private:
  // Entries that one turn of the control loop removes: a fraction of a millisecond.
  static constexpr std::size_t kSlice = 2048;

  struct Branches {
    explicit Branches(smg::Host host)
        : Branches(smg::Metrics(host).counter("smg_manual_policy_branch_total",
                                              "Decisions about routing keys, by how they were made",
                                              {"branch"})) {}
    explicit Branches(const smg::Family& family)
        : no_healthy_workers(family.with({"no_healthy_workers"})),
          no_routing_id(family.with({"no_routing_id"})),
          occupied_hit(family.with({"occupied_hit"})),
          occupied_miss(family.with({"occupied_miss"})),
          vacant(family.with({"vacant"})) {}

    smg::Series no_healthy_workers, no_routing_id, occupied_hit, occupied_miss, vacant;
  };

  static smg::Series entries_of(smg::Host host) {
    return smg::Metrics(host)
        .gauge("smg_manual_policy_cache_entries", "Routing keys that are kept with a worker")
        .with({});
  }

  // The first pinned worker that is eligible; otherwise a new one, pinned behind.
  template <class Assign>
  uint32_t stick(const smg::Request& request, const smg::Pool& pool, const manual::PoolIndex& index,
                 const Assign& assign, const smg::Series*& branch) {
    uint32_t choice = 0;
    const smg::StickyKey key{pool.model(), request.leg(), request.routing_key()};
    keys_.update(key, request.now(), [&](smg::Pins& pins) {
      for (std::size_t i = 0; i < pins.size(); ++i) {
        const auto pinned = index.find(pool.raw(), pins[i]);
        if (!pinned || !pool.eligible(*pinned)) continue;
        branch = &branches_.occupied_hit;
        choice = *pinned;
        return;
      }
      branch = pins.empty() ? &branches_.vacant : &branches_.occupied_miss;
      choice = assign();
      pins.append(smg::text(pool.worker(choice).url));
    });
    return choice;
  }

  void sweep() noexcept {
    const uint64_t now = clock_.now();
    const bool more = keys_.evict_idle(now, max_idle_, kSlice) == kSlice;
    entries_.set(static_cast<double>(keys_.size()));
    loop_.set(sweep_, more ? now : now + sweep_interval_);
  }

  smg::Clock clock_;
  smg::Loop loop_;
  manual::Assignment assignment_{};
  uint64_t sweep_interval_ = 0;  // ns
  uint64_t max_idle_ = 0;        // ns
  smg::StickyMap keys_;
  manual::PoolIndexes indexes_;
  smg::EligibleCache<std::shared_ptr<const manual::PoolIndex>> eligible_;
  Branches branches_;
  smg::Series entries_;
  smg::Timer<&Manual::sweep> sweep_{*this};
};

}  // namespace

SMG_EXPORT_PLUGINS(
    smg::policy<Manual>({.name = "manual",
                         .version = "1.0",
                         .vendor = "smg",
                         .summary = "a routing key stays with the worker it was assigned first",
                         .options = kOptions}));
