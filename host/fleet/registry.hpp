// The registry of workers: who is there, which pools they form, and their state words.
//
// Membership changes on the control thread only, and is published as snapshots. A snapshot costs as
// much as there are workers, so changes that come together are published together: a worker that is
// added may be missing for a turn of the control loop, one that is removed is out of routing at
// once by its state word. Snapshots are taken by any thread: compare generation(), then fetch.
// State words change through set_state(), from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/bus/bus.hpp"
#include "host/fleet/endpoint.hpp"
#include "host/fleet/snapshot.hpp"
#include "host/metrics/families.hpp"

namespace smg {

// A worker that is being looked at: its endpoint is open, nobody routes to it.
struct Candidate {
  std::uint64_t ref = 0;
  std::uint32_t slot = 0;
  std::shared_ptr<WorkerRuntime> runtime;
  std::shared_ptr<Endpoint> endpoint;
};

class Registry {
 public:
  // [control] Which policy chooses for a model that is new; `first` is the first of its workers.
  // For `unknown`, which any worker serves, nullptr. The choice holds until the last worker of the
  // model has left.
  using PolicyFor = std::function<PolicyPtr(std::string_view model, const Worker* first)>;
  // [control] The same for a model whose requests `present` chooses for now.
  using PolicyAgain = std::function<PolicyPtr(std::string_view model, const Worker* first,
                                              const PolicyPtr& present)>;

  // `publish_soon` is told once when there is something to publish and has publish() called on the
  // control thread; without it every change is published at once.
  Registry(Endpoints& endpoints, Families& families, Bus& bus, PolicyFor policy_for,
           std::function<void()> publish_soon = {});
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // [control] Opens an endpoint for a worker that is to be looked at before it is registered; ends
  // in add() or discard(). Nothing, and a sentence in `error`, if the transport refuses.
  std::optional<Candidate> open(const WorkerDescription& description, const TransportPtr& transport,
                                std::string& error);
  // [control] The same for what is to take the place of a present worker; ends in replace() or is
  // dropped.
  std::optional<Candidate> reopen(const Worker& worker, const WorkerDescription& description,
                                  const TransportPtr& transport, std::string& error);
  // [control] Another endpoint for a candidate, at a transport that has taken the place of its own.
  // False, and a sentence in `error`: it keeps the one that it has.
  bool renew(Candidate& candidate, const WorkerDescription& description,
             const TransportPtr& transport, std::string& error);
  void discard(const Candidate& candidate);
  // [control] Registers the worker, as Pending. nullptr if the URL is taken; the candidate is
  // discarded then.
  std::shared_ptr<Worker> add(Candidate candidate, WorkerDescription description);
  // [control] Replaces the description of a present worker: same URL and live block, new ref, and
  // the candidate's endpoint if there is one. nullptr if the worker is not present.
  std::shared_ptr<Worker> replace(const std::shared_ptr<Worker>& present,
                                  WorkerDescription description,
                                  std::optional<Candidate> candidate = {});
  // [control] Takes the worker out of routing now. Its requests end in peace, then its endpoint
  // closes.
  void remove(const std::shared_ptr<Worker>& leaving);
  void remove_all();
  // [control] Makes the worker Ready once the pools that hold it are visible: nobody may take it
  // for ready and not find it.
  void ready_when_published(std::shared_ptr<Worker> worker);
  // [control] Makes what has changed visible to loops and policies.
  void publish();

  // [control] Opens an endpoint at `after` for every worker that has one at `before`, and moves all
  // of them there; what runs at the old ones ends in peace. False, a sentence in `error`, and
  // nothing has changed, if `after` refuses one.
  bool move_workers(const TransportRef& before, const TransportPtr& after, std::string& error);
  // [control] Tells a policy that is to take the place of `present` of all pools of that one.
  void introduce(const PolicyPtr& successor, const PolicyPtr& present);
  // [control] Those that were introduced do not take over.
  void withdraw() { introduced_.clear(); }
  // [control] Asks for every pool anew which policy chooses from it, and publishes at once.
  void change_policies(const PolicyAgain& again);

  // [any] The present worker with that ref, or nullptr.
  std::shared_ptr<Worker> find(std::uint64_t ref) const;
  // [any] The present worker whom a plugin means by that ref: a transport goes on to call a worker
  // as it was when its endpoint was opened, whatever has changed in its description since.
  std::shared_ptr<Worker> served(std::uint64_t ref) const;
  // [any] The same, for what runs on a worker: an endpoint that has been replaced still ends its
  // streams. nullptr once nothing of the worker is left.
  std::shared_ptr<WorkerRuntime> runtime_of(std::uint64_t ref) const;
  // [control] The present worker with that id, or at that URL.
  std::shared_ptr<Worker> find_id(std::string_view id) const;
  std::shared_ptr<Worker> find_url(std::string_view url) const;
  // [control] In order of registration, whether a snapshot shows them already or not.
  const std::vector<std::shared_ptr<Worker>>& present() const { return workers_; }

  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  std::shared_ptr<const FleetSnapshot> snapshot() const;

  // Who wants to know what becomes of workers. [control]
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void fleet_published() = 0;
    // It is registered no more (replaced or removed), or has left Ready: what is known of its load
    // does not hold.
    virtual void worker_left(const Worker& worker) = 0;
  };
  void observe(Observer* observer) { observer_ = observer; }  // [control]

  // [any] Replaces the bits of `mask` in a state word by `bits`; counts an epoch if eligibility
  // moved. Returns the word before.
  std::uint32_t set_bits(LiveBlock& block, std::uint32_t mask, std::uint32_t bits);
  // [any] SMG_STATUS_*. A worker that leaves Ready is not overloaded any more. Tells the bus and
  // the observer if it changed.
  void set_status(const Worker& worker, std::uint32_t status);
  // [any] The verdict on its last report. Without effect, and false, if this worker is not
  // registered any more or not Ready.
  bool set_overloaded(const Worker& worker, bool overloaded);

 private:
  void changed();
  void show_added(const Worker& worker);
  void show_removed(const Worker& worker) const;
  // REQUIRES: mutex_ held.
  std::uint32_t write_bits(LiveBlock& block, std::uint32_t mask, std::uint32_t bits);
  // REQUIRES: mutex_ held. True if the flag moved; announce_verdict() is then due, without the
  // lock.
  bool flag(const Worker& worker, bool overloaded);
  // `again` may be nullptr: policies stay.
  void publish_with(const PolicyAgain* again);
  std::shared_ptr<const FleetSnapshot> make_snapshot(const PolicyAgain* again);
  void tell_policies(const FleetSnapshot& before, const FleetSnapshot& now) const;
  std::shared_ptr<const Pool> make_pool(std::string_view model,
                                        std::vector<std::shared_ptr<Worker>> members,
                                        PolicyPtr policy);
  void announce(std::uint32_t type, const Worker& worker);
  void announce_verdict(const Worker& worker, bool overloaded);

  Endpoints& endpoints_;
  Families& families_;
  Bus& bus_;
  PolicyFor policy_for_;
  Observer* observer_ = nullptr;
  std::function<void()> publish_soon_;
  bool dirty_ = false;                           // control thread
  std::vector<std::shared_ptr<Worker>> coming_;  // Ready with the next snapshot; control thread
  // What those policies were told of that are to take over; control thread.
  std::map<const PolicyRef*, std::shared_ptr<const FleetSnapshot>> introduced_;

  // Of what other threads read or write: snapshot_, by_ref_, by_endpoint_, state words. The control
  // thread reads its own without it.
  mutable std::mutex mutex_;
  std::shared_ptr<const FleetSnapshot> snapshot_;
  std::atomic<std::uint64_t> generation_{0};
  std::vector<std::shared_ptr<Worker>> workers_;  // in order of registration
  std::unordered_map<std::uint64_t, std::shared_ptr<Worker>> by_ref_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Worker>> by_endpoint_;
  std::unordered_map<std::string_view, Worker*> by_url_, by_id_;  // control thread
  std::map<std::string, std::int64_t, std::less<>> overloaded_;   // workers so flagged, by model
  std::uint64_t next_ref_ = 1;
  std::uint64_t next_pool_generation_ = 1;  // unique over all pools, so it identifies one
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_slot_ = 0;
  alignas(64) std::uint64_t epoch_ = 2;  // even, but for the moment of a change
};

}  // namespace smg
