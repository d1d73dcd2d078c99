// Received bytes that could not be used yet: the start of a head or chunk line, or what a pause
// held back.
//
// A few bytes (the line end after a chunk, mostly) stand in place; more of them are on the heap,
// and only until they are taken. One loop's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace smg::http {

class KeptBytes {
 public:
  KeptBytes() = default;
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;
  ~KeptBytes() { clear(); }

  bool empty() const { return size_ == 0; }

  // REQUIRES: empty().
  void store(const char* data, std::size_t size) {
    if (size == 0) return;
    char* place = inline_;
    if (size > sizeof inline_) place = heap_ = new char[size];
    std::memcpy(place, data, size);
    size_ = static_cast<uint32_t>(size);
  }

  // Copies them to `to`, which has room, and forgets them. Returns how many they were.
  std::size_t take(char* to) {
    const std::size_t size = size_;
    if (size == 0) return 0;
    std::memcpy(to, size > sizeof inline_ ? heap_ : inline_, size);
    clear();
    return size;
  }

  void clear() {
    if (size_ > sizeof inline_) delete[] heap_;
    size_ = 0;
  }

 private:
  union {
    char inline_[20];
    char* heap_;
  };
  uint32_t size_ = 0;
};

}  // namespace smg::http
