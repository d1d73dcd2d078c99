#include <string>

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

std::string text(std::uint32_t endpoint, const std::string& body, std::uint32_t needs = kText) {
  const Reading reading(body, endpoint, needs);
  CAPTURE(body);
  CAPTURE(reading.error.message);
  CHECK_FALSE(reading.error);
  return reading.input.text;
}

std::string chat(const std::string& messages) {
  return text(SMG_ENDPOINT_CHAT, R"({"model":"m","messages":[)" + messages + "]}");
}

using Ids = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("chat: texts of all roles in order, joined by one space") {
  CHECK(
      chat(
          R"({"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"assistant","content":"yo"})") ==
      "be kind hi yo");
  CHECK(
      chat(
          R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}},{"text":"b","type":"text"}]})") ==
      "a b");
  CHECK(
      chat(
          R"({"role":"system","content":""},{"role":"user","content":"x"},{"role":"assistant","content":null},{"role":"tool","content":"y"})") ==
      "x y");
}

TEST_CASE("chat: an assistant's reasoning follows its content, wherever it stands") {
  CHECK(
      chat(
          R"({"role":"user","content":"q"},{"reasoning_content":"why","role":"assistant","content":"a"},{"role":"user","content":"r"})") ==
      "q a why r");
  CHECK(chat(R"({"role":"user","content":"q","reasoning_content":"no"})") == "q");
}

TEST_CASE("chat: escapes are resolved") {
  CHECK(chat(R"({"role":"user","content":"line\nbreak \"q\" \u00e9\ud83d\ude00 \\"})") ==
        "line\nbreak \"q\" \u00e9\U0001F600 \\");
}

TEST_CASE("chat: of repeated keys the last one gives the text") {
  CHECK(chat(R"({"role":"user","content":"old","content":"new"})") == "new");
  CHECK(
      text(
          SMG_ENDPOINT_CHAT,
          R"({"messages":[{"role":"user","content":"old"}],"model":"m","messages":[{"role":"user","content":"new"}],"input":"x","prompt":"y","text":"z"})") ==
      "new");
}

TEST_CASE("completions: the prompt, or the strings of it") {
  CHECK(text(SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":"once upon"})") == "once upon");
  CHECK(text(SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":["a","b", "c"]})") == "a b c");
  CHECK(text(SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":[1,2,3]})").empty());
  CHECK(text(SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":[[1],[2]]})").empty());
}

TEST_CASE("generate: the text, else the ids in decimal") {
  CHECK(text(SMG_ENDPOINT_GENERATE, R"({"text":"hello"})") == "hello");
  CHECK(text(SMG_ENDPOINT_GENERATE, R"({"text":["a","b"]})") == "a b");
  CHECK(text(SMG_ENDPOINT_GENERATE, R"({"input_ids":[1, 22,333]})") == "1 22 333");
  CHECK(text(SMG_ENDPOINT_GENERATE, R"({"input_ids":[1],"text":"hello"})") == "hello");
  const Reading reading(R"({"input_ids":[1]})", SMG_ENDPOINT_GENERATE, kText);
  CHECK(reading.input.tokens.empty());
}

TEST_CASE("generate: tokens take the place of the text") {
  const auto tokens = [](const std::string& ids) {
    const Reading reading(R"({"text":"t","input_ids":)" + ids + "}", SMG_ENDPOINT_GENERATE,
                          kText | kTokens);
    CHECK_FALSE(reading.error);
    CHECK(reading.input.text == (reading.input.tokens.empty() ? "t" : ""));
    return reading.input.tokens;
  };
  CHECK(tokens("[1,2,4294967295]") == Ids{1, 2, 4294967295});
  CHECK(tokens("[ [ 7 , 8 ] , [9]]") == Ids{7, 8});
  CHECK(tokens("[[7,8]]") == Ids{7, 8});
  for (const char* none : {"[]", "[[]]", "[[],[1]]", "null", "5", "\"1,2\"", "[1,-2]",
                           "[1,4294967296]", "[1.5]", "[\"1\"]", "[1,[2]]", "{\"a\":[1]}"}) {
    CAPTURE(none);
    CHECK(tokens(none).empty());
  }
}

TEST_CASE("tokens alone bring no text") {
  const Reading reading(R"({"text":"t","input_ids":[3]})", SMG_ENDPOINT_GENERATE, kTokens);
  CHECK(reading.input.text.empty());
  CHECK(reading.input.tokens == Ids{3});
}

TEST_CASE("embeddings and classify: the input's strings") {
  for (const std::uint32_t endpoint : {SMG_ENDPOINT_EMBEDDINGS, SMG_ENDPOINT_CLASSIFY}) {
    CHECK(text(endpoint, R"({"model":"m","input":"one"})") == "one");
    CHECK(text(endpoint, R"({"model":"m","input":["one",2,"two",{"text":"x"}]})") == "one two");
    CHECK(text(endpoint, R"({"model":"m","input":{"text":"x"}})").empty());
    CHECK(text(endpoint, R"({"model":"m","input":"one","input":5})").empty());
  }
}

TEST_CASE("rerank: the query") {
  CHECK(text(SMG_ENDPOINT_RERANK, R"({"model":"m","documents":["d"],"query":"what\t?"})") ==
        "what\t?");
}

TEST_CASE("messages: the system prompt first, then the messages") {
  const std::string rest = R"("model":"m","max_tokens":9)";
  CHECK(
      text(
          SMG_ENDPOINT_MESSAGES,
          R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"thinking","thinking":"no"},{"type":"text","text":"a"}]}],"system":"sys",)" +
              rest + "}") == "sys u a");
  CHECK(
      text(
          SMG_ENDPOINT_MESSAGES,
          R"({"system":[{"type":"text","text":"s1"},{"type":"text","text":"s2","cache_control":{"type":"x"}}],"messages":[{"role":"user","content":""}],)" +
              rest + "}") == "s1 s2");
  CHECK(text(SMG_ENDPOINT_MESSAGES,
             R"({"system":"old","system":null,"messages":[{"role":"user","content":"u"}],)" + rest +
                 "}") == "u");
}

TEST_CASE("responses: the input string, or the texts of its items") {
  CHECK(text(SMG_ENDPOINT_RESPONSES, R"({"model":"m","input":"plain"})") == "plain");
  CHECK(
      text(
          SMG_ENDPOINT_RESPONSES,
          R"({"model":"m","input":[{"role":"user","content":"simple"},)"
          R"({"type":"message","role":"user","content":[{"type":"input_text","text":"in"},{"type":"input_image","image_url":"u"}]},)"
          R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"out","annotations":[]}]},)"
          R"({"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"think"}]},)"
          R"({"type":"function_call_output","output":"no"}]})") == "simple in out think");
}

TEST_CASE("nothing is collected that nobody asked for") {
  const Reading reading(R"({"text":"t","input_ids":[3]})", SMG_ENDPOINT_GENERATE,
                        SMG_NEEDS_HEADERS);
  CHECK(reading.input.text.empty());
  CHECK(reading.input.tokens.empty());
}

TEST_CASE("what keeps a request's cache apart is the partition of its cache") {
  const auto partition = [](const std::string& members, std::uint32_t needs = kText) {
    return Reading(R"({"text":"t")" + members + "}", SMG_ENDPOINT_GENERATE, needs)
        .input.cache_namespace;
  };
  CHECK(partition("").empty());
  CHECK(partition(R"(,"cache_salt":null,"lora_path":false)").empty());
  CHECK(partition(R"(,"cache_salt":1,"extra_key":1)") != partition(R"(,"cache_salt":111)"));
  const std::string salted = partition(R"(,"cache_salt":"a")");
  CHECK_FALSE(salted.empty());
  CHECK(salted == partition(R"(, "cache_salt" : "a" )"));
  CHECK(salted == partition(R"(,"cache_salt":"b","cache_salt":"a")"));
  CHECK(salted == partition(R"(,"cache_salt":"a")", kTokens));
  CHECK(partition(R"(,"cache_salt":"a")", SMG_NEEDS_HEADERS).empty());
  for (const char* other : {R"(,"cache_salt":"b")", R"(,"extra_key":"a")", R"(,"lora_path":"a")",
                            R"(,"cache_salt":"a","lora_path":"x")"}) {
    CHECK(partition(other) != salted);
    CHECK_FALSE(partition(other).empty());
  }
}

}  // namespace smg::testing
