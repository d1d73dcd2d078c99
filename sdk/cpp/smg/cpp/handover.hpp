// What a plugin has learnt, as bytes for the instance that takes over (smg/handover.h). The members
// of a class that offers it stand in smg/cpp/policy.hpp.
//
// A state is a row of numbers and texts. Nothing in it tells what comes next: it is read in the
// order in which it was written. A number takes seven bits a byte, the lowest first, so small ones
// are short; a text is its size and its bytes.
//
// The writer collects and gives the host large pieces. The reader takes the bytes for anybody's: it
// looks at no byte that is not there and throws an smg::Error that says where the state is damaged.
// What it returns points into the state. Each is one thread's.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "smg/cpp/error.hpp"
#include "smg/handover.h"

namespace smg {

class StateWriter {
 public:
  explicit StateWriter(const smg_state_writer& raw) : raw_(&raw) { buffer_.reserve(kPiece); }
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  void number(uint64_t value) {
    char bytes[10];
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    append(bytes, size);
  }
  // Always eight bytes: for hashes, which are seldom small.
  void word(uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view bytes) {
    number(bytes.size());
    append(bytes.data(), bytes.size());
  }

  // Gives the host what is left. Who calls export_state() does it after it.
  void flush() {
    pass_on(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  void append(const char* bytes, std::size_t size) {
    if (buffer_.size() + size > kPiece) flush();
    if (size > kPiece) return pass_on(bytes, size);
    buffer_.append(bytes, size);
  }
  void pass_on(const char* bytes, std::size_t size) {
    if (size == 0) return;
    const smg_status status = raw_->write(raw_, bytes, size);
    if (status == SMG_OK) return;
    throw Error(status, status == SMG_E_LIMIT ? "the state is larger than the gateway keeps"
                                              : "the gateway does not take the state");
  }

  const smg_state_writer* raw_;
  std::string buffer_;
};

class StateReader {
 public:
  explicit StateReader(std::string_view state) : state_(state) {}

  // Throws if the number is above `most`.
  uint64_t number(uint64_t most = std::numeric_limits<uint64_t>::max()) {
    const std::size_t start = at_;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      if (shift == 63 && byte > 1) fail(start, "a number has more than 64 bits");
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    if (value > most) {
      fail(start, std::to_string(value) + " stands where at most " + std::to_string(most) +
                      " is possible");
    }
    return value;
  }
  uint64_t word() {
    uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number()); }

  // How many things follow of which each takes `bytes` or more: no more than there is room for, so
  // that memory may be set aside for them. REQUIRES: bytes > 0.
  std::size_t count(std::size_t bytes) {
    const std::size_t start = at_;
    const uint64_t value = number();
    if (value > left() / bytes) {
      fail(start, std::to_string(value) + " entries cannot stand in the " + std::to_string(left()) +
                      " bytes that follow");
    }
    return static_cast<std::size_t>(value);
  }

  // Throws unless all has been read.
  void end() const {
    if (left() > 0) fail(at_, std::to_string(left()) + " bytes too many");
  }

  // For what the plugin finds wrong with what it has just read.
  [[noreturn]] void fail(const std::string& why) const { fail(at_, why); }

 private:
  std::size_t left() const { return state_.size() - at_; }
  std::string_view take(uint64_t size) {
    if (size > left()) {
      fail(at_, "it ends " + std::to_string(size - left()) + " bytes too early");
    }
    const std::string_view bytes = state_.substr(at_, static_cast<std::size_t>(size));
    at_ += bytes.size();
    return bytes;
  }
  [[noreturn]] static void fail(std::size_t at, const std::string& why) {
    throw Error(SMG_E_INVALID, "the state is damaged at byte " + std::to_string(at) + ": " + why);
  }

  std::string_view state_;
  std::size_t at_ = 0;
};

// For an import_state() that reads one format: throws SMG_E_UNSUPPORTED for any other.
inline void require_format(std::string_view format, std::string_view known) {
  if (format == known) return;
  throw Error(SMG_E_UNSUPPORTED, "the state is in the format `" + std::string(format) +
                                     "`, this version reads `" + std::string(known) + "`");
}

}  // namespace smg
