#include "hash_ring.hpp"

#include <charconv>
#include <limits>
#include <unordered_map>

namespace smg {
namespace {

constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();

struct Node {
  uint64_t position;
  uint32_t owner;
};

void append_nodes(const std::string& url, uint32_t owner, std::vector<Node>& nodes) {
  std::string name = url + "#000";
  char* const digits = name.data() + url.size() + 1;
  for (uint32_t i = 0; i < HashRing::kNodesPerWorker; ++i) {
    const char* const end = std::to_chars(digits, digits + 3, i).ptr;
    nodes.push_back({hash64({name.data(), static_cast<std::size_t>(end - name.data())}), owner});
  }
}

}  // namespace

HashRing::HashRing(std::span<const std::string_view> urls, const HashRing& base)
    : urls_(urls.begin(), urls.end()) {
  std::unordered_map<std::string_view, uint32_t> members;
  members.reserve(urls_.size());
  for (uint32_t i = 0; i < urls_.size(); ++i) members.emplace(urls_[i], i);

  std::vector<uint32_t> renumbered(base.urls_.size(), kGone);
  std::vector<bool> retained(urls_.size());
  for (std::size_t i = 0; i < renumbered.size(); ++i) {
    const auto found = members.find(base.urls_[i]);
    if (found == members.end()) continue;
    renumbered[i] = found->second;
    retained[found->second] = true;
  }
  std::vector<Node> added;
  for (uint32_t i = 0; i < urls_.size(); ++i) {
    if (!retained[i] && members.at(urls_[i]) == i) append_nodes(urls_[i], i, added);
  }
  // Should two hashes ever be the same, replicas must still agree, whatever order they know their
  // workers in: the URL decides.
  const auto before = [this](const Node& a, const Node& b) {
    return a.position != b.position ? a.position < b.position : urls_[a.owner] < urls_[b.owner];
  };
  std::sort(added.begin(), added.end(), before);

  positions_.reserve(members.size() * kNodesPerWorker);
  owners_.reserve(members.size() * kNodesPerWorker);
  const auto append = [this](const Node& node) {
    positions_.push_back(node.position);
    owners_.push_back(node.owner);
  };
  auto next = added.begin();
  for (std::size_t i = 0; i < base.owners_.size(); ++i) {
    const Node node{base.positions_[i], renumbered[base.owners_[i]]};
    if (node.owner == kGone) continue;
    for (; next != added.end() && before(*next, node); ++next) append(*next);
    append(node);
  }
  std::for_each(next, added.end(), append);
}

}  // namespace smg
