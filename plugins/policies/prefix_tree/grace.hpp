// Lets threads read linked memory without a lock while one writer at a time takes parts out of it:
// what was taken out is freed when no thread can still see it (epoch-based reclamation).
//
// A reader announces the epoch in which it began in one of a fixed number of places, each in a
// cache line of its own. What is retired carries the epoch of that moment. take() begins a new
// epoch and hands out what is older than every announced one: a reader that it did not see has
// read the new epoch, and with it everything that was unlinked before.
//
// Readers: any thread, any number of them nested; beyond kPlaces at a time they wait for a place.
// retire() and take(): under the writer's lock. Memory comes from ::operator new and holds nothing
// that needs a destructor.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <thread>
#include <vector>

namespace smg::prefix_tree {

// Memory that was handed out, freed at the end of the scope: outside of the lock.
class Garbage {
 public:
  Garbage() = default;
  Garbage(const Garbage&) = delete;
  Garbage& operator=(const Garbage&) = delete;
  ~Garbage() {
    for (void* memory : memory_) ::operator delete(memory);
  }

  void add(void* memory) { memory_.push_back(memory); }
  bool empty() const { return memory_.empty(); }

 private:
  std::vector<void*> memory_;
};

class Grace {
 public:
  static constexpr std::size_t kPlaces = 64;

  class Reader;

  Grace() = default;
  Grace(const Grace&) = delete;
  Grace& operator=(const Grace&) = delete;
  ~Grace() {
    for (const Retired& each : retired_) ::operator delete(each.memory);
  }

  // REQUIRES: unlinked already, so that a reader that begins now cannot reach it.
  void retire(void* memory) {
    retired_.push_back({memory, epoch_.load(std::memory_order_relaxed)});
  }

  // Moves up to `limit` of what nobody can see to `garbage`. Looks at the readers only when enough
  // has been retired since it last did, or if `always`.
  void take(Garbage& garbage, std::size_t limit, bool always = false) {
    if (!always && retired_.size() < next_look_) return;
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    uint64_t oldest = epoch_.load(std::memory_order_relaxed);
    for (const Place& place : places_) {
      const uint64_t epoch = place.epoch.load(std::memory_order_seq_cst);
      if (epoch != 0 && epoch < oldest) oldest = epoch;
    }
    for (; limit > 0 && !retired_.empty() && retired_.front().epoch < oldest; --limit) {
      garbage.add(retired_.front().memory);
      retired_.pop_front();
    }
    next_look_ = retired_.size() + kBetweenLooks;
  }

 private:
  static constexpr std::size_t kBetweenLooks = 32;

  struct alignas(64) Place {
    std::atomic<uint64_t> epoch{0};  // 0: free
  };
  struct Retired {
    void* memory;
    uint64_t epoch;
  };

  std::array<Place, kPlaces> places_;
  alignas(64) std::atomic<uint64_t> epoch_{1};
  alignas(64) std::deque<Retired> retired_;
  std::size_t next_look_ = kBetweenLooks;
};

// While one exists, what it may have seen stays.
class Grace::Reader {
 public:
  explicit Reader(Grace& grace) {
    uint64_t epoch = grace.epoch_.load(std::memory_order_seq_cst);
    place_ = &announce(grace, epoch);
    // An epoch that has passed in between would hold back more than needed, and the writer may
    // have looked before the announcement: it stands once the epoch is still the same after it.
    for (;;) {
      const uint64_t now = grace.epoch_.load(std::memory_order_seq_cst);
      if (now == epoch) return;
      epoch = now;
      place_->store(epoch, std::memory_order_seq_cst);
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { place_->store(0, std::memory_order_release); }

 private:
  static std::atomic<uint64_t>& announce(Grace& grace, uint64_t epoch) {
    const std::size_t own = std::hash<std::thread::id>{}(std::this_thread::get_id());
    for (;;) {
      for (std::size_t i = 0; i < kPlaces; ++i) {
        std::atomic<uint64_t>& place = grace.places_[(own + i) % kPlaces].epoch;
        uint64_t none = 0;
        if (place.load(std::memory_order_relaxed) == 0 &&
            place.compare_exchange_strong(none, epoch, std::memory_order_seq_cst)) {
          return place;
        }
      }
      std::this_thread::yield();
    }
  }

  std::atomic<uint64_t>* place_;
};

}  // namespace smg::prefix_tree
