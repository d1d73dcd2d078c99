#include <boost/json.hpp>
#include <string>

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

constexpr std::string_view kChat =
    R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"}]}],"n":[1,{"x":[]}],"top_k":null})";

}  // namespace

TEST_CASE("what is not one whole JSON document is malformed") {
  for (const std::string_view body : {"",
                                      "   ",
                                      "{",
                                      "}",
                                      "{]",
                                      R"({"model")",
                                      R"({"model":)",
                                      R"({"model":})",
                                      R"({"model":"m")",
                                      R"({"model":"m"}x)",
                                      R"({"model":"m"}})",
                                      R"({"model":"m"}{"model":"n"})",
                                      R"({"model":"m"} ,)",
                                      R"({"model":"m",})",
                                      R"({,"model":"m"})",
                                      R"({"model" "m"})",
                                      R"({"model":"m" "x":1})",
                                      R"({model:"m"})",
                                      R"({'model':'m'})",
                                      R"({"model":"m","stream":truex})",
                                      R"({"model":"m","stream":tru})",
                                      R"({"model":"m","x":NaN})",
                                      R"({"model":"m","a":"b":"c"})",
                                      R"({"a":"b":"c","model":"m"})",
                                      "{\"model\":\"m\nn\"}",
                                      "{\"model\":\"\xff\"}",
                                      "{\"model\":\"m\",\"x\":\"\xc3(\"}",
                                      "\xef\xbb\xbf{\"model\":\"m\"}",
                                      R"({"a":[},"model":"m")"}) {
    CAPTURE(body);
    CHECK(Reading(body, SMG_ENDPOINT_GENERATE).error.fault == BodyFault::malformed);
  }
}

TEST_CASE("no prefix of a body is taken for a body, whatever lies behind it") {
  for (const char slack : std::string("\0},]\"{[: t1", 11)) {
    for (std::size_t size = 0; size < kChat.size(); ++size) {
      CAPTURE(size);
      CAPTURE(slack);
      const Reading reading(kChat.substr(0, size), SMG_ENDPOINT_CHAT, Extractor::validated,
                            kText | kTokens, slack);
      CHECK(reading.error);
    }
    const Reading whole(kChat, SMG_ENDPOINT_CHAT, Extractor::validated, kText, slack);
    CHECK_FALSE(whole.error);
    CHECK(whole.input.text == "a\nb");
  }
}

TEST_CASE("broken bodies never pass with a model that a strict parser would not see") {
  // Every byte is replaced, dropped or doubled in turn; a fixed set of bytes is tried at each
  // place.
  const std::string_view bytes("\"{}[],:\\x0 \x01", 12);
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < kChat.size(); ++at) {
    for (std::size_t kind = 0; kind < bytes.size() + 2; ++kind) {
      std::string body(kChat);
      if (kind < bytes.size()) {
        body[at] = bytes[kind];
      } else if (kind == bytes.size()) {
        body.erase(at, 1);
      } else {
        body.insert(at, 1, body[at]);
      }
      for (const char slack : {'\0', '}', ','}) {
        const Reading reading(body, SMG_ENDPOINT_CHAT, Extractor::validated, kText, slack);
        if (reading.error) continue;
        ++accepted;
        boost::json::error_code error;
        const boost::json::value value = boost::json::parse(body, error);
        if (error) continue;
        CAPTURE(body);
        CHECK(value.as_object().at("model").as_string() ==
              boost::json::string_view(reading.facts.model));
      }
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("a key may be repeated, but not without bound") {
  std::string body = "{";
  for (std::size_t i = 0; i < RequestFacts::kMaxMembers; ++i) body += "\"top_k\":null,";
  CHECK_FALSE(Reading(body + "\"x\":1}", SMG_ENDPOINT_GENERATE).error);
  CHECK(Reading(body + "\"top_k\":1}", SMG_ENDPOINT_GENERATE).error.fault == BodyFault::malformed);
}

TEST_CASE("deep nesting is skipped without harm") {
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  CHECK_FALSE(
      Reading("{\"x\":" + open + close + ",\"text\":\"t\"}", SMG_ENDPOINT_GENERATE, kText).error);
  CHECK_FALSE(Reading("{\"top_k\":" + open + close + "}", SMG_ENDPOINT_GENERATE, kText).error);
  CHECK(Reading("{\"x\":" + open + "}", SMG_ENDPOINT_GENERATE, kText).error);
}

}  // namespace smg::testing
