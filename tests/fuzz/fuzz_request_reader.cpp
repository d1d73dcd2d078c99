// Reads arbitrary bodies and edits those that pass. The first byte picks endpoint, extractor, needs
// and the slack's content; the rest is the body. Whatever the reader accepts and a full parser
// accepts too must agree on the model, on the stream switch and on the outcome of the edits.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/request_reader.hpp"
#include "host/routing/request/rerank.hpp"
#include "host/routing/request/routing_hints.hpp"
#include "smg/policy.h"

namespace {

using namespace smg;
namespace json = boost::json;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

std::string joined(const std::vector<smg_view>& pieces) {
  std::string all;
  for (const smg_view& piece : pieces) all.append(piece.data, piece.size);
  return all;
}

json::value parse(std::string_view text, json::error_code& error) {
  json::parse_options options;
  options.max_depth = 256;
  return json::parse({text.data(), text.size()}, error, {}, options);
}

const json::value* member(const json::object& object, std::string_view name) {
  return object.if_contains({name.data(), name.size()});
}

bool goes(const json::value* value, BodyKey key) {
  if (value == nullptr) return false;
  if (value->is_null()) return true;
  return value->is_bool() && (!value->get_bool() || key == BodyKey::separate_reasoning ||
                              key == BodyKey::stream_reasoning);
}

void compare(std::string_view body, std::uint32_t endpoint, const RequestFacts& facts) {
  json::error_code error;
  json::value parsed = parse(body, error);
  if (error) return;
  require(parsed.is_object(), "an accepted body is an object");
  json::object& expected = parsed.get_object();
  const json::value* model = member(expected, "model");
  if (model != nullptr && model->is_string() && facts.model != kUnknownModel) {
    require(model->get_string() == json::string_view(facts.model), "the model is the last one");
  }
  const json::value* stream = member(expected, "stream");
  const bool streams = stream != nullptr && stream->is_bool() && stream->get_bool();
  require(!facts.stream || streams, "stream is what the body says");
  if (endpoint <= SMG_ENDPOINT_RESPONSES && endpoint != SMG_ENDPOINT_OTHER) {
    require(facts.stream == streams, "a stream is noticed");
  }

  for (unsigned i = 0; i < kStrippedKeys; ++i) {
    const auto key = static_cast<BodyKey>(i);
    const auto name = name_of(key);
    if (goes(member(expected, name), key)) expected.erase({name.data(), name.size()});
  }
  if (facts.has(BodyKey::model) && facts.model != "canonical") expected["model"] = "canonical";
  expected["data_parallel_rank"] = 5;
  std::string scratch;
  std::vector<smg_view> pieces;
  const std::uint64_t size = outbound_body(body, facts, "canonical", 5, scratch, pieces);
  const std::string edited = joined(pieces);
  require(size == edited.size(), "the size of the pieces is their sum");
  const json::value after = parse(edited, error);
  require(!error, "an edited body is JSON");
  require(after == parsed, "an edited body says what was wished");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static RequestReader reader;
  static RequestFacts facts;
  static RoutingInput input;
  const std::uint32_t endpoint = data[0] % 9;
  const auto extractor = static_cast<Extractor>(data[0] / 9 % 2);
  const std::uint32_t needs = data[0] / 18 % 4;
  const char slack = "}],\"{[: "[data[0] % 8];

  const std::size_t length = size - 1;
  const std::unique_ptr<char[]> memory(new char[length + kBodySlack]);
  std::memset(memory.get(), slack, length + kBodySlack);
  if (length > 0) std::memcpy(memory.get(), data + 1, length);
  const std::string_view body(memory.get(), length);

  const BodyError error = reader.read(body, endpoint, extractor, needs, facts, input);
  if (error) {
    require(!error.body().empty() && error.status() >= 400, "an error says what is wrong");
  } else if (endpoint != SMG_ENDPOINT_RERANK || extractor != Extractor::plain) {
    compare(body, endpoint, facts);
  } else {
    std::string scratch;
    std::vector<smg_view> pieces;
    short_rerank_body(body, facts, 1, scratch, pieces);
  }

  std::vector<std::uint32_t> tokens;
  parse_routing_tokens(body, tokens);
  std::string answer;
  build_rerank_answer(body, {"m", "", 1, false}, 0, answer);
  return 0;
}
