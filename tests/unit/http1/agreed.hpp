// The transcript of bytes that are given whole, byte by byte and in random pieces: all must agree.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/support/http1_transcript.hpp"

namespace smg::test {

inline constexpr int kRounds = 12;

template <class Transcribe>
std::string agreed(std::string_view bytes, Transcribe transcribe) {
  const std::string whole = transcribe(Pieces::whole());
  // Byte by byte through a long head copies it each time: take larger steps.
  CHECK(transcribe(Pieces::of(bytes.size() > 10000 ? 499 : 1)) == whole);
  for (int seed = 0; seed < kRounds; ++seed) {
    CAPTURE(seed);
    CHECK(transcribe(Pieces::random(static_cast<std::uint64_t>(seed))) == whole);
  }
  return whole;
}

inline std::string requests(std::string_view bytes, const http1::Limits& limits = {}) {
  return agreed(bytes, [&](Pieces pieces) { return transcribe_requests(bytes, pieces, limits); });
}

inline std::string response(std::string_view bytes, const Answering& how = {}) {
  return agreed(bytes, [&](Pieces pieces) { return transcribe_response(bytes, pieces, how); });
}

// "error 400", "needs more", "complete, left over 0"
inline std::string last_line(const std::string& transcript) {
  return transcript.substr(transcript.rfind('\n') + 1);
}

}  // namespace smg::test
