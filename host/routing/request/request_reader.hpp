// Reads a request body in place: one scan of its top-level keys, and of the messages where the
// endpoint has them.
//
// Of a key that occurs twice the last value counts, as it does for the engines. What is skipped is
// checked for quotes, UTF-8 and bracket depth only: the engine has the last word on it, and nothing
// here acts on it. Names are compared unescaped. A reader belongs to one loop and keeps its memory
// from request to request (not that of a huge one). Nothing is kept between calls, so requests may
// be read in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "host/routing/request/body_error.hpp"
#include "host/routing/request/request_facts.hpp"

namespace smg {

// Bytes that must be readable behind the end of a body; their value does not matter.
inline constexpr std::size_t kBodySlack = 64;

class RequestReader {
 public:
  RequestReader();
  ~RequestReader();
  RequestReader(RequestReader&& other) noexcept;
  RequestReader& operator=(RequestReader&& other) noexcept;

  // Fills `facts` from `body`, and `input` with what `needs` (SMG_NEEDS_TEXT, SMG_NEEDS_TOKENS)
  // asks for; both are cleared first. Given tokens, the text stays empty. `endpoint`
  // (SMG_ENDPOINT_*) and `extractor` say what the body must look like; SMG_ENDPOINT_RERANK with
  // Extractor::plain is POST /v1/rerank, {query, documents}. With an error the facts are not to be
  // used. REQUIRES: kBodySlack readable bytes behind `body`.
  BodyError read(std::string_view body, std::uint32_t endpoint, Extractor extractor,
                 std::uint32_t needs, RequestFacts& facts, RoutingInput& input);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace smg
