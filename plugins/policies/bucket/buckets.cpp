#include "buckets.hpp"

#include <algorithm>
#include <unordered_map>

#include "smg/cpp/least.hpp"
#include "smg/cpp/random.hpp"

namespace bucket {
namespace {

constexpr uint64_t kBase = 4096;

uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

std::vector<Bounds> initial_bounds(std::size_t workers) {
  std::vector<Bounds> bounds(workers);
  const uint64_t gap = std::max<uint64_t>(kBase / std::max<uint64_t>(workers, 1), 1);
  for (std::size_t i = 0; i < workers; ++i) bounds[i] = {i * gap, (i + 1) * gap - 1};
  if (workers > 0) bounds.back().high = UINT64_MAX;
  return bounds;
}

std::vector<Bounds> fitted_bounds(std::span<const uint64_t> sizes, std::size_t workers,
                                  uint64_t share) {
  std::vector<Bounds> bounds;
  std::size_t next = 0;
  uint64_t low = 0;
  while (bounds.size() + 1 < workers) {
    uint64_t sum = 0;
    uint64_t high = saturating_add(low, share);
    while (next < sizes.size()) {
      const uint64_t size = sizes[next++];
      sum = saturating_add(sum, size);
      if (sum < share) continue;
      if (size > low) high = size;
      break;
    }
    bounds.push_back({low, high});
    low = saturating_add(high, 1);
  }
  if (workers > 0) bounds.push_back({low, UINT64_MAX});
  return bounds;
}

void Buckets::set_members(const smg_pool& pool) {
  std::vector<std::string> urls;
  std::unordered_map<std::string_view, uint32_t> places;
  for (uint32_t i = 0; i < pool.count; ++i) {
    const std::string_view url = smg::text(pool.workers[i]->url);
    urls.emplace_back(url);
    places.emplace(url, i);
  }
  std::vector<uint64_t> recent(pool.count);
  const std::lock_guard lock(mutex_);
  std::deque<Record> kept;
  window_total_ = 0;
  for (Record record : records_) {
    const auto place = places.find(urls_[record.member]);
    if (place == places.end()) continue;
    record.member = place->second;
    recent[record.member] += record.size;
    window_total_ += record.size;
    kept.push_back(record);
  }
  generation_ = pool.generation;
  urls_ = std::move(urls);
  bounds_ = initial_bounds(pool.count);
  recent_ = std::move(recent);
  records_ = std::move(kept);
  share_ = 0;
}

std::optional<uint32_t> Buckets::choose(const smg::Pool& pool, std::span<const uint32_t> eligible,
                                        uint64_t size, uint64_t now, uint64_t random) {
  if (eligible.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (pool.generation() != generation_) {
    return eligible[smg::uniform(random, static_cast<uint32_t>(eligible.size()))];
  }
  forget_until(now);
  uint64_t most = 0;
  smg::Least<uint64_t> idlest(random);
  for (const uint32_t index : eligible) {
    most = std::max(most, recent_[index]);
    idlest.offer(index, recent_[index]);
  }
  const uint64_t least = idlest.value();
  const bool uneven = most - least > tunables_.balance_abs &&
                      static_cast<float>(most) > tunables_.balance_rel * static_cast<float>(least);
  const uint32_t owner = owner_of(size);
  const uint32_t choice = uneven || !pool.eligible(owner) ? idlest.index() : owner;
  record(choice, size, now);
  return choice;
}

void Buckets::adjust(uint64_t now) {
  std::vector<uint64_t> sizes;
  std::size_t workers = 0;
  uint64_t share = 0;
  uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    forget_until(now);
    if (records_.empty()) return;
    workers = bounds_.size();
    share = window_total_ / workers;
    // Without a share there is nothing to divide: sizes are unknown, or far fewer than workers.
    if (share == 0) return;
    if (share_ != 0 && share <= 2 * share_ && share_ <= 2 * share) return;
    generation = generation_;
    sizes.reserve(records_.size());
    for (const Record& record : records_) sizes.push_back(record.size);
  }
  std::sort(sizes.begin(), sizes.end());
  std::vector<Bounds> bounds = fitted_bounds(sizes, workers, share);
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return;
  bounds_ = std::move(bounds);
  share_ = share;
}

std::vector<Bounds> Buckets::bounds() const {
  const std::lock_guard lock(mutex_);
  return bounds_;
}

std::vector<uint64_t> Buckets::recent() const {
  const std::lock_guard lock(mutex_);
  return recent_;
}

uint32_t Buckets::owner_of(uint64_t size) const {
  const auto after =
      std::upper_bound(bounds_.begin(), bounds_.end(), size,
                       [](uint64_t value, const Bounds& each) { return value < each.low; });
  return static_cast<uint32_t>(after - bounds_.begin()) - 1;  // the first low is 0
}

void Buckets::forget_until(uint64_t now) {
  while (!records_.empty() && now > records_.front().time &&
         now - records_.front().time > tunables_.window) {
    forget_oldest();
  }
}

void Buckets::forget_oldest() {
  const Record& oldest = records_.front();
  recent_[oldest.member] -= oldest.size;
  window_total_ -= oldest.size;
  records_.pop_front();
}

void Buckets::record(uint32_t member, uint64_t size, uint64_t now) {
  if (records_.size() >= kMaxRecords) forget_oldest();
  records_.push_back({size, now, member});
  recent_[member] += size;
  window_total_ += size;
}

}  // namespace bucket
