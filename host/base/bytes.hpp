// A growing run of bytes with a cheap front: append at the end, consume from the beginning.
//
// Holds no memory while empty and never more than a few KiB beyond its content, because thousands
// of connections own one each. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace smg {

class Bytes {
 public:
  Bytes() = default;
  ~Bytes() { std::free(data_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  Bytes(Bytes&& other) noexcept { swap(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    Bytes(std::move(other)).swap(*this);
    return *this;
  }

  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  std::size_t capacity() const { return capacity_; }
  char* data() { return data_ + begin_; }
  const char* data() const { return data_ + begin_; }
  std::string_view view() const { return {data_ + begin_, size()}; }

  // Room for `extra` more bytes behind the content; `size()` does not change.
  void reserve(std::size_t extra) {
    if (end_ + extra <= capacity_) return;
    if (begin_ > 0) {
      std::memmove(data_, data_ + begin_, size());
      end_ -= begin_;
      begin_ = 0;
      if (end_ + extra <= capacity_) return;
    }
    const std::size_t wanted = end_ + extra;
    const std::size_t spare = std::min<std::size_t>(end_ / 4, 1 << 20);
    const std::size_t capacity = wanted + spare < 1024 ? wanted : (wanted + spare + 1023) & ~1023ul;
    auto* data = static_cast<char*>(std::realloc(data_, capacity));
    if (data == nullptr) throw std::bad_alloc();
    data_ = data;
    capacity_ = capacity;
  }
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    reserve(bytes.size());
    std::memcpy(data_ + end_, bytes.data(), bytes.size());
    end_ += bytes.size();
  }
  // Takes over `count` bytes that were written behind the content. REQUIRES: reserved.
  void commit(std::size_t count) { end_ += count; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) clear();
  }
  // Drops what lies behind the first `size` bytes.
  void truncate(std::size_t size) { end_ = begin_ + size; }
  // Empties and keeps the memory.
  void clear() { begin_ = end_ = 0; }
  // Empties and gives the memory back.
  void release() { Bytes().swap(*this); }
  void swap(Bytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  char* data_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace smg
