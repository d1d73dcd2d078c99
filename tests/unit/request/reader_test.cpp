#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

constexpr std::size_t kLarge = 6'000'000;
constexpr std::string_view kMessages = R"("messages":[{"role":"user","content":"hi"}])";

Reading chat(const std::string& members) {
  return Reading("{" + members + "," + std::string(kMessages) + "}", SMG_ENDPOINT_CHAT);
}

}  // namespace

TEST_CASE("model and stream are read wherever they stand") {
  const Reading first = chat(R"("model":"llama","stream":true)");
  CHECK_FALSE(first.error);
  CHECK(first.facts.model == "llama");
  CHECK(first.facts.stream);

  const Reading last(
      R"( { "messages" : [ {"role":"user","content":"x"} ] , "stream" : true , "model" : "m" } )",
      SMG_ENDPOINT_CHAT);
  CHECK_FALSE(last.error);
  CHECK(last.facts.model == "m");
  CHECK(last.facts.stream);
}

TEST_CASE("a stream that is absent, false or null is no stream") {
  CHECK_FALSE(chat(R"("model":"m")").facts.stream);
  CHECK_FALSE(chat(R"("model":"m","stream":false)").facts.stream);
  const Reading null = chat(R"("model":"m","stream":null)");
  CHECK_FALSE(null.error);
  CHECK_FALSE(null.facts.stream);
}

TEST_CASE("embeddings, classify and rerank never stream") {
  for (const std::uint32_t endpoint : {SMG_ENDPOINT_EMBEDDINGS, SMG_ENDPOINT_CLASSIFY}) {
    const Reading reading(R"({"model":"m","input":"x","stream":true})", endpoint);
    CHECK_FALSE(reading.error);
    CHECK_FALSE(reading.facts.stream);
  }
  const Reading rerank(R"({"model":"m","query":"q","documents":["d"],"stream":true})",
                       SMG_ENDPOINT_RERANK);
  CHECK_FALSE(rerank.error);
  CHECK_FALSE(rerank.facts.stream);
}

TEST_CASE("of a repeated key the last value counts") {
  const Reading reading = chat(R"("model":"a","stream":true,"model":"b","stream":false)");
  CHECK_FALSE(reading.error);
  CHECK(reading.facts.model == "b");
  CHECK_FALSE(reading.facts.stream);
  CHECK(chat(R"("model":"a","model":7)").error.fault == BodyFault::wrong_shape);
  CHECK_FALSE(chat(R"("model":7,"model":"a")").error);
  CHECK_FALSE(Reading(R"({"model":"m","messages":[],"messages":[{"role":"user","content":"x"}]})",
                      SMG_ENDPOINT_CHAT)
                  .error);
  CHECK(Reading(R"({"model":"m","messages":[{"role":"user","content":"x"}],"messages":[]})",
                SMG_ENDPOINT_CHAT)
            .error);
}

TEST_CASE("names and models are compared unescaped, as the engine sees them") {
  const Reading key = chat(R"("model":"decoy","mod\u0065l":"real")");
  CHECK(key.facts.model == "real");
  CHECK(chat(R"("model":"a\/b\"c\\d\u00e9\ud83d\ude00")").facts.model ==
        "a/b\"c\\d\u00e9\U0001F600");
  CHECK(chat(R"("model":"m","mode\"l":"x")").facts.model == "m");
  CHECK(chat(R"("model":"\ud800")").error.fault == BodyFault::malformed);
  CHECK(chat(R"("model":"m","\q":1)").error.fault == BodyFault::malformed);
}

TEST_CASE("members of nested objects are not taken for the request's own") {
  const Reading reading =
      chat(R"("metadata":{"model":"inner","stream":true,"deep":[{"model":1}]},"model":"outer")");
  CHECK_FALSE(reading.error);
  CHECK(reading.facts.model == "outer");
  CHECK_FALSE(reading.facts.stream);
}

TEST_CASE("generate without a model asks for any worker") {
  const Reading absent(R"({"text":"x"})", SMG_ENDPOINT_GENERATE);
  CHECK_FALSE(absent.error);
  CHECK(absent.facts.model == "unknown");
  CHECK(Reading(R"({"text":"x","model":"m"})", SMG_ENDPOINT_GENERATE).facts.model == "m");
  CHECK(Reading(R"({})", SMG_ENDPOINT_GENERATE).facts.model == "unknown");
}

TEST_CASE("rerank's terms are read") {
  const Reading reading(
      R"({"model":"m","query":"q","documents":[ "a", "b" ],"top_k":3,"return_documents":false,"rid":["r1"]})",
      SMG_ENDPOINT_RERANK);
  CHECK_FALSE(reading.error);
  CHECK(reading.facts.top_k == 3);
  CHECK_FALSE(reading.facts.return_documents);
  CHECK(reading.facts.query.in(reading.body) == "\"q\"");
  CHECK(reading.facts.documents.in(reading.body) == R"([ "a", "b" ])");
  CHECK(reading.facts.rid.in(reading.body) == R"(["r1"])");
}

TEST_CASE("the short rerank form knows query and documents only") {
  const Reading reading(
      R"({"model":"m","query":"q","documents":["a"],"top_k":1,"return_documents":false,"rid":"r"})",
      SMG_ENDPOINT_RERANK, Extractor::plain, 0);
  CHECK_FALSE(reading.error);
  CHECK(reading.facts.model == "unknown");
  CHECK(reading.facts.top_k == 0);
  CHECK(reading.facts.return_documents);
  CHECK(reading.facts.rid.empty());
}

TEST_CASE("a reader forgets the body before") {
  RequestReader reader;
  RequestFacts facts;
  RoutingInput input;
  const auto read = [&](std::string body) {
    const std::size_t size = body.size();
    body.resize(size + kBodySlack);
    return reader.read(std::string_view(body.data(), size), SMG_ENDPOINT_GENERATE, Extractor::plain,
                       kText | kTokens, facts, input);
  };
  CHECK_FALSE(read(R"({"model":"m","stream":true,"input_ids":[1,2],"top_k":null})"));
  CHECK(input.tokens.size() == 2);
  CHECK_FALSE(read(R"({"text":"hello"})"));
  CHECK(facts.model == "unknown");
  CHECK_FALSE(facts.stream);
  CHECK(facts.strip == 0);
  CHECK(input.tokens.empty());
  CHECK(input.text == "hello");
  CHECK_FALSE(read("{\"text\":\"" + std::string(kLarge, 'x') + "\"}"));
  CHECK(input.text.size() == kLarge);
  CHECK_FALSE(read(R"({"text":"small again"})"));
  CHECK(input.text == "small again");
  CHECK(input.text.capacity() < kLarge);
}

}  // namespace smg::testing
