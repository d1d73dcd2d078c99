#include <string>

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

std::string stripped(const char* body) {
  const Reading reading(body, SMG_ENDPOINT_GENERATE);
  CAPTURE(body);
  REQUIRE_FALSE(reading.error);
  return outbound(reading, reading.facts.model);
}

}  // namespace

TEST_CASE("a body without edits is one piece of the same bytes") {
  const Reading reading(R"( {"text" : "x", "top_k" : 5 } )", SMG_ENDPOINT_GENERATE);
  std::string scratch;
  std::vector<smg_view> pieces;
  CHECK(outbound_body(reading.body, reading.facts, "unknown", kNoRank, scratch, pieces) ==
        reading.body.size());
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].data == reading.body.data());
}

TEST_CASE("keys of the strip list go when null or false, with one comma each") {
  CHECK(stripped(R"({"top_k":null,"text":"x"})") == R"({"text":"x"})");
  CHECK(stripped(R"({"text":"x","top_k":null})") == R"({"text":"x"})");
  CHECK(stripped(R"({"text":"x","top_k":null,"n":1})") == R"({"text":"x","n":1})");
  CHECK(stripped(R"({"top_k":null})") == "{}");
  CHECK(stripped(R"({ "top_k" : null })") == "{  }");
  CHECK(stripped(R"({"top_k":null,"min_p":false,"text":"x"})") == R"({"text":"x"})");
  CHECK(stripped(R"({"text":"x","top_k":null,"min_p":false})") == R"({"text":"x"})");
  CHECK(stripped(R"({"top_k":null,"text":"x","min_p":false})") == R"({"text":"x"})");
  CHECK(stripped(R"({"top_k":null,"min_p":false})") == "{}");
  CHECK(stripped("{\n  \"top_k\" : null ,\n  \"text\" : \"x\" ,\n  \"regex\" : false\n}") ==
        "{\n  \n  \"text\" : \"x\" \n}");
}

TEST_CASE("values that mean something stay") {
  for (const char* body :
       {R"({"top_k":0})", R"({"ignore_eos":true})", R"({"regex":""})", R"({"stop_token_ids":[]})",
        R"({"stream":false})", R"({"max_tokens":null})", R"({"temperature":null})",
        R"({"metadata":{"top_k":null}})", R"({"separate_reasoning":1})"}) {
    CHECK(stripped(body) == body);
  }
}

TEST_CASE("the two reasoning switches go when true as well") {
  CHECK(stripped(R"({"separate_reasoning":true,"stream_reasoning":true,"ignore_eos":true})") ==
        R"({"ignore_eos":true})");
  CHECK(stripped(R"({"separate_reasoning":false,"stream_reasoning":null})") == "{}");
}

TEST_CASE("of a repeated key the last value decides and all go or stay") {
  CHECK(stripped(R"({"top_k":5,"text":"x","top_k":null})") == R"({"text":"x"})");
  CHECK(stripped(R"({"top_k":{"a":[1,2]} , "top_k":[null], "text":"x","top_k":false})") ==
        R"({  "text":"x"})");
  CHECK(stripped(R"({"top_k":null,"text":"x","top_k":5})") ==
        R"({"top_k":null,"text":"x","top_k":5})");
  CHECK(stripped(R"({"top\u005fk":null,"text":"x"})") == R"({"text":"x"})");
}

TEST_CASE("an existing model is rewritten, a missing one is not added") {
  const Reading reading(R"({"text":"x", "model" : "alias" ,"n":1})", SMG_ENDPOINT_GENERATE);
  CHECK(outbound(reading, "real") == R"({"text":"x", "model" : "real" ,"n":1})");
  CHECK(outbound(reading, "a\"b\\c\n") == R"({"text":"x", "model" : "a\"b\\c\u000a" ,"n":1})");
  CHECK(outbound(reading, "alias") == reading.body);
  const Reading without(R"({"text":"x"})", SMG_ENDPOINT_GENERATE);
  CHECK(outbound(without, "real") == without.body);
  const Reading twice(R"({"model":["x"],"text":"x","model":"alias"})", SMG_ENDPOINT_GENERATE);
  CHECK(outbound(twice, "real") == R"({"model":"real","text":"x","model":"real"})");
}

TEST_CASE("the rank is set once") {
  const auto ranked = [](const char* body) {
    return outbound(Reading(body, SMG_ENDPOINT_GENERATE), "unknown", 3);
  };
  CHECK(ranked(R"({"text":"x"})") == R"({"text":"x","data_parallel_rank":3})");
  CHECK(ranked("{}") == R"({"data_parallel_rank":3})");
  CHECK(ranked("{ \"top_k\":null }  ") == R"({  "data_parallel_rank":3}  )");
  CHECK(ranked(R"({"top_k":null,"text":"x" })") == R"({"text":"x" ,"data_parallel_rank":3})");
  CHECK(ranked(R"({"data_parallel_rank":{"a":7},"text":"x"})") ==
        R"({"data_parallel_rank":3,"text":"x"})");
}

TEST_CASE("any tracked key can be set or dropped") {
  const Reading reading(
      R"({"n":2,"max_tokens":100,"stream":true,"stream_options":{"include_usage":true},"top_k":null})",
      SMG_ENDPOINT_GENERATE);
  const BodyChange changes[] = {{BodyKey::n, "1", false},
                                {BodyKey::max_tokens, "1"},
                                {BodyKey::max_completion_tokens, "1", false},
                                {BodyKey::stream, "false"},
                                {BodyKey::stream_options, {}},
                                {BodyKey::min_tokens, {}},
                                {BodyKey::bootstrap_host, "\"h\""},
                                {BodyKey::bootstrap_port, "null"}};
  std::vector<smg_view> pieces;
  append_pieces(reading.body, plan_edits(reading.body, reading.facts, false, changes), pieces);
  CHECK(
      joined(pieces) ==
      R"({"n":1,"max_tokens":1,"stream":false,"top_k":null,"bootstrap_host":"h","bootstrap_port":null})");
}

TEST_CASE("edits come in order and do not overlap") {
  const Reading reading(R"({"top_k":null,"min_p":null,"model":"a","regex":null})",
                        SMG_ENDPOINT_GENERATE);
  const BodyChange changes[] = {{BodyKey::model, "\"b\""}, {BodyKey::data_parallel_rank, "1"}};
  const EditList list = plan_edits(reading.body, reading.facts, true, changes);
  std::size_t at = 0;
  for (const Edit& edit : list.edits()) {
    CHECK(edit.offset >= at);
    at = edit.offset + edit.length;
  }
  CHECK(at <= reading.body.size());
  CHECK(list.edits().size() == 7);
}

}  // namespace smg::testing
