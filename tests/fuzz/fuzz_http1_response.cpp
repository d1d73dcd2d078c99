// Arbitrary bytes as an answer: whatever a parser says of them must not depend on how they are
// split. The first byte picks the limits, the kind of request, the end and the random split; the
// rest is the stream.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/support/http1_transcript.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smg;
  using test::Pieces;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  test::Answering how;
  if (data[0] % 2 == 0) {
    how.limits = {.max_head = 256, .max_body = 100, .max_chunk_line = 20, .max_trailers = 64};
  }
  how.head_request = data[0] % 16 == 3;
  how.ends = (data[0] & 4) != 0;
  const std::string whole = test::transcribe_response(bytes, Pieces::whole(), how);
  // Byte by byte is slow, so not every time.
  const Pieces pieces = data[0] % 32 < 4 ? Pieces::of(1) : Pieces::random(data[0]);
  const std::string split = test::transcribe_response(bytes, pieces, how);
  if (!test::agree(split, whole)) {
    std::fprintf(stderr, "whole:\n%s\nsplit:\n%s\n", whole.c_str(), split.c_str());
    std::abort();
  }
  return 0;
}
