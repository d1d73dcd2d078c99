#include "pool_rings.hpp"

#include <algorithm>
#include <utility>

namespace smg {
namespace {

template <class List>
auto place_of(List& directory, uint64_t generation) {
  return std::lower_bound(
      directory.begin(), directory.end(), generation,
      [](const auto& known, uint64_t wanted) { return known.generation < wanted; });
}

}  // namespace

PoolRings::PoolRings(Host host) : loop_(host), rows_(loop_.count()) {
  publish(std::make_shared<const Directory>());
}

void PoolRings::pool_changed(const smg_pool* before, const smg_pool* after) {
  // This thread alone replaces the directory.
  Directory next = *directory_;
  const uint64_t previous = before != nullptr ? before->generation : 0;
  const auto old = place_of(next, previous);
  auto base = std::make_shared<const HashRing>();
  if (old != next.end() && old->generation == previous) {
    base = old->ring;
    forget(next, std::exchange(old->previous, 0));
  }
  if (after == nullptr) {
    forget(next, previous);
  } else {
    std::vector<std::string_view> urls;
    for (uint32_t i = 0; i < after->count; ++i) urls.push_back(text(after->workers[i]->url));
    const auto same = std::find_if(next.begin(), next.end(),
                                   [&](const Known& known) { return known.ring->is_of(urls); });
    auto ring = same != next.end() ? same->ring : std::make_shared<const HashRing>(urls, *base);
    forget(next, after->generation);
    next.insert(place_of(next, after->generation), {after->generation, previous, std::move(ring)});
  }
  publish(std::make_shared<const Directory>(std::move(next)));
}

const HashRing* PoolRings::find(const Directory& directory, uint64_t generation) {
  const auto place = place_of(directory, generation);
  return place != directory.end() && place->generation == generation ? place->ring.get() : nullptr;
}

void PoolRings::forget(Directory& directory, uint64_t generation) {
  std::erase_if(directory,
                [generation](const Known& known) { return known.generation == generation; });
}

void PoolRings::refresh(Row& row) {
  const std::lock_guard lock(mutex_);
  row.directory = directory_;
}

void PoolRings::publish(std::shared_ptr<const Directory> directory) {
  retired_.push_back(directory_);
  {
    const std::lock_guard lock(mutex_);
    newest_.store(directory.get(), std::memory_order_release);
    directory_ = std::move(directory);
  }
  std::erase_if(retired_, [](const auto& each) { return each.use_count() <= 1; });
}

}  // namespace smg
