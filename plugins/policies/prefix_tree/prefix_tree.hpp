// Which worker was sent which beginnings of prompts: a radix tree whose nodes know their holders.
//
// Edge labels are runs of units (characters of text, or whole pages of token ids). A tenant that
// is sent a prompt becomes a holder of every node on the prompt's path, so that of a shared
// beginning there are many. Looking up needs no lock: it walks labels that never change, in memory
// that stays as long as someone reads (Grace). Changes are made under one lock, on nodes that were
// prepared before it was taken; if the tree has changed meanwhile they are prepared again from the
// deepest node that is left. Eviction and removal of a tenant find their leaves as readers and take
// the lock for a few at a time.
//
// One for each model, owned by the policy. Every function on any thread, at any time; the
// functions that are passed in run without a lock, and may use other trees.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "epoch.hpp"
#include "leaf_queue.hpp"
#include "smg/cpp/handover.hpp"
#include "smg/cpp/random.hpp"
#include "structure.hpp"
#include "tenant.hpp"
#include "text_key.hpp"
#include "token_key.hpp"
#include "writer_lock.hpp"

namespace smg::prefix_tree {

// What a walk through all nodes finds, for tests: it has to agree with the books.
struct Census {
  uint64_t total = 0;
  std::map<uint32_t, uint64_t> by_slot;  // only those that hold something
  uint64_t nodes = 0;
  uint64_t faults = 0;  // nodes whose holders contradict those above or below
};

template <class Key>
class PrefixTree {
 public:
  using Input = typename Key::Input;

  // StringTree(), TokenTree(page_size).
  explicit PrefixTree(Key key = Key()) : nodes_(key) {}

  // From now on it may hold prefixes. If the slot still is another generation's, that one is
  // removed. REQUIRES: slots are small, there is memory for each below the largest.
  void add_tenant(Tenant tenant);

  // When this returns there is no trace of it, and no insert that runs meanwhile or comes later
  // has an effect.
  void remove_tenant(Tenant tenant);

  // How much of the input is known and who holds it. accept(Tenant) -> bool says who may be named.
  // Of more than Match::kMaxTenants holders `random` chooses which; once in eight times it marks
  // the first of them as used.
  template <class Accept>
  Match match(Input input, Accept accept, uint64_t random);

  // match(), then choose(const Match&) -> std::optional<Tenant>, then insert() for the chosen one,
  // in one descent. Returns what choose returned.
  template <class Accept, class Choose>
  std::optional<Tenant> match_and_insert(Input input, Accept accept, uint64_t random,
                                         Choose choose);

  // Makes the tenant a holder of the input and of all that it begins with.
  void insert(Input input, Tenant tenant);

  // Takes the least recently used leaves from their holders until size() <= budget. Returns the
  // units that went. Other threads go on meanwhile.
  uint64_t evict(uint64_t budget);

  // Writes all that tenants with a number hold: number_of(Tenant) -> std::optional<uint32_t>. Other
  // threads go on meanwhile; what they change may be in it or not.
  template <class NumberOf>
  void export_state(StateWriter& writer, NumberOf number_of) const;

  // Adds what export_state() wrote. The tenant with number i is now tenants[i], or nobody if it is
  // not one of this tree's: what only such held is left out. Throws smg::Error if the state is
  // damaged; what had come before stays. Blocks all changes meanwhile.
  void import_state(StateReader& reader, std::span<const Tenant> tenants);

  // Units, once for each holder.
  uint64_t size() const { return nodes_.books().total(); }
  uint64_t size(Tenant tenant) const;
  std::size_t tenant_count() const;

  // Blocks all changes meanwhile.
  Census recount() const;

 private:
  // Nodes from the root to the end of a walk. A conversation adds one a turn; texts that each end a
  // little before the last one could make a path of as many nodes as characters.
  static constexpr uint32_t kMaxDepth = 512;

  // How far the input is known: up to `offset` by whole nodes, the last of which is `full`; then by
  // the first `common` elements of the label of `part`, if it is not null.
  struct Walk {
    Node* full;
    std::size_t offset = 0;
    uint64_t units = 0;
    uint64_t shared = 0;  // up to the last wide node
    uint32_t depth = 0;   // of `full`
    Node* part = nullptr;
    std::size_t common = 0;
    uint64_t common_units = 0;
    // What comes next in the tree has the right key but other content: two pages with the same
    // digest; as keys are unique among children, the rest of the input cannot be stored. Or the
    // walk has been as deep as it may.
    bool blocked = false;
  };

  // An insert, made ready outside of the lock.
  struct Plan {
    Walk walk;
    OwnNode upper, lower;  // of walk.part
    OwnNode leaf;
  };

  static Input part_of(Input input, std::size_t from, std::size_t size) {
    return Input(input.data() + from, size);
  }
  static Input rest_of(Input input, std::size_t from) {
    return part_of(input, from, input.size() - from);
  }

  Walk descend(Input stored, Walk from) const;
  template <class Accept>
  Match report(Input input, const Walk& walk, Accept& accept, uint64_t random) const;
  void store(Input stored, const Walk& walk, Tenant tenant);
  Plan prepare(Input stored, const Walk& walk) const;
  bool is_current(Input stored, const Plan& plan) const;
  Node& commit(Plan& plan, Tenant tenant);
  bool touch(Node& node, uint64_t who) const;

  // Takes leaves of one tenant, or of all if it is 0, until done() is true; that is asked under
  // the lock.
  template <class Done>
  uint64_t drop_leaves(uint64_t only, Done done);
  std::vector<Leaf> leaves(uint64_t only) const;
  void warm(const Leaf& leaf) const;
  uint64_t drop_next(LeafQueue& queue);
  void free_garbage();

  using HolderList = std::vector<std::pair<uint64_t, uint64_t>>;  // words of tenants, epochs
  HolderList import_holders(StateReader& reader, std::span<const Tenant> tenants) const;
  Node* import_node(Node& parent, Input label, HolderList holders);

  Structure<Key> nodes_;
  mutable WriterLock writer_;
};

using StringTree = PrefixTree<TextKey>;
using TokenTree = PrefixTree<TokenKey>;

}  // namespace smg::prefix_tree

#include "prefix_tree_impl.hpp"
#include "prefix_tree_state.hpp"
