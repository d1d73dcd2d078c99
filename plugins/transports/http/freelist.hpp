// Memory for objects of one type that come and go often. One loop's own; no locks.
//
// make() constructs, give_back() destroys and keeps the memory for the next make(). Under the
// address sanitizer nothing is kept, so that a use after give_back() is seen.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace smg::http {

template <class T>
class Freelist {
 public:
  Freelist() = default;
  Freelist(const Freelist&) = delete;
  Freelist& operator=(const Freelist&) = delete;
  ~Freelist() {
    while (free_ != nullptr) {
      Node* node = free_;
      free_ = node->next;
      release(node);
    }
  }

  template <class... Arguments>
  T* make(Arguments&&... arguments) {
    void* memory = free_;
    if (memory != nullptr) {
      free_ = free_->next;
      --kept_;
    } else {
      memory = ::operator new (sizeof(T), std::align_val_t{alignof(T)});
    }
    return ::new (memory) T(std::forward<Arguments>(arguments)...);
  }

  void give_back(T* object) {
    object->~T();
    if (kept_ >= kMostKept) return release(object);
    free_ = ::new (static_cast<void*>(object)) Node{free_};
    ++kept_;
  }

 private:
  struct Node {
    Node* next;
  };
  static_assert(sizeof(T) >= sizeof(Node));
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kMostKept = 0;
#else
  static constexpr std::size_t kMostKept = 4096;
#endif

  static void release(void* memory) {
    ::operator delete (memory, std::align_val_t{alignof(T)});
  }

  Node* free_ = nullptr;
  std::size_t kept_ = 0;
};

}  // namespace smg::http
