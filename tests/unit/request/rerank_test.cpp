#include "host/routing/request/rerank.hpp"

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

constexpr std::string_view kResults =
    R"([{"score":0.95,"document":"d1","index":1},{"score":1,"index":0,"document":"d0","meta_info":{"id":"x","n":[1,2.5,null,true]}},{"score":-3e-7,"index":2}])";

std::string answer(const RerankTerms& terms, std::string_view body = kResults) {
  std::string out;
  CHECK(build_rerank_answer(body, terms, 1700000000, out));
  return out;
}

}  // namespace

TEST_CASE("the answer wraps the worker's results in their order") {
  CHECK(
      answer({"m", "", 0, true}) ==
      R"({"results":[{"score":0.95,"document":"d1","index":1},{"score":1,"index":0,"document":"d0","meta_info":{"id":"x","n":[1,2.5,null,true]}},{"score":-3e-07,"index":2}],"model":"m","usage":null,"object":"rerank","id":null,"created":1700000000})");
  CHECK(
      answer({"m\"", "\"r-1\"", 0, true}, "[]") ==
      R"({"results":[],"model":"m\"","usage":null,"object":"rerank","id":"r-1","created":1700000000})");
}

TEST_CASE("top_k truncates and documents can be left out") {
  const std::string one = answer({"m", "", 1, false});
  CHECK(
      one ==
      R"({"results":[{"score":0.95,"index":1}],"model":"m","usage":null,"object":"rerank","id":null,"created":1700000000})");
  CHECK(answer({"m", "", 99, true}) == answer({"m", "", 0, true}));
  CHECK(answer({"m", "", 0, false}).find("document") == std::string::npos);
}

TEST_CASE("anything but a result array is refused") {
  for (const std::string_view body :
       {"", "{}", "null", "[1]", "[{}]", R"([{"score":1}])", R"([{"score":"1","index":0}])",
        R"([{"score":1,"index":-1}])", R"([{"score":1,"index":0})",
        R"([{"score":1,"index":0}] x)"}) {
    CAPTURE(body);
    std::string out = "untouched";
    CHECK_FALSE(build_rerank_answer(body, {"m", "", 0, true}, 1, out));
    CHECK(out == "untouched");
  }
}

TEST_CASE("terms outlive the body") {
  RerankTerms terms;
  {
    const Reading reading(
        R"({"model":"alias","query":"q","documents":["d"],"rid":"abc","top_k":2,"return_documents":false})",
        SMG_ENDPOINT_RERANK);
    terms = rerank_terms(reading.body, reading.facts, "real");
  }
  CHECK(terms.model == "real");
  CHECK(terms.id == "\"abc\"");
  CHECK(terms.top_k == 2);
  CHECK_FALSE(terms.return_documents);
}

TEST_CASE("the short form becomes a rerank request") {
  const Reading reading(R"({"documents": ["d1", "d2"], "extra": 1, "query": "q\n", "top_k": 5})",
                        SMG_ENDPOINT_RERANK, Extractor::plain, 0);
  std::string scratch;
  std::vector<smg_view> pieces;
  std::uint64_t size = short_rerank_body(reading.body, reading.facts, kNoRank, scratch, pieces);
  CHECK(joined(pieces) ==
        R"({"query":"q\n","documents":["d1", "d2"],"model":"unknown","return_documents":true})");
  CHECK(size == joined(pieces).size());
  pieces.clear();
  size = short_rerank_body(reading.body, reading.facts, 2, scratch, pieces);
  CHECK(
      joined(pieces) ==
      R"({"query":"q\n","documents":["d1", "d2"],"model":"unknown","return_documents":true,"data_parallel_rank":2})");
  CHECK(size == joined(pieces).size());
}

}  // namespace smg::testing
