#include <string>

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

struct Case {
  std::uint32_t endpoint;
  const char* body;
  BodyFault fault;
};

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    CAPTURE(c.endpoint);
    CAPTURE(c.body);
    const Reading reading(c.body, c.endpoint);
    CHECK(static_cast<int>(reading.error.fault) == static_cast<int>(c.fault));
  }
}

}  // namespace

TEST_CASE("the model is a mandatory string") {
  for (const std::uint32_t endpoint :
       {SMG_ENDPOINT_CHAT, SMG_ENDPOINT_COMPLETIONS, SMG_ENDPOINT_MESSAGES, SMG_ENDPOINT_RESPONSES,
        SMG_ENDPOINT_EMBEDDINGS, SMG_ENDPOINT_CLASSIFY, SMG_ENDPOINT_RERANK, SMG_ENDPOINT_OTHER}) {
    const std::string rest =
        R"("messages":[{"role":"user","content":"x"}],"max_tokens":5,"prompt":"p","input":"i","query":"q","documents":["d"]})";
    CAPTURE(endpoint);
    CHECK_FALSE(Reading("{\"model\":\"m\"," + rest, endpoint).error);
    CHECK(Reading("{" + rest, endpoint).error.fault == BodyFault::wrong_shape);
    CHECK(Reading("{\"model\":null," + rest, endpoint).error.fault == BodyFault::wrong_shape);
    CHECK(Reading("{\"model\":[\"m\"]," + rest, endpoint).error.fault == BodyFault::wrong_shape);
  }
  check({{SMG_ENDPOINT_GENERATE, R"({"model":5})", BodyFault::wrong_shape}});
}

TEST_CASE("a chat needs messages") {
  check({{SMG_ENDPOINT_CHAT, R"({"model":"m"})", BodyFault::wrong_shape},
         {SMG_ENDPOINT_CHAT, R"({"model":"m","messages":"x"})", BodyFault::wrong_shape},
         {SMG_ENDPOINT_CHAT, R"({"model":"m","messages":["x"]})", BodyFault::wrong_shape},
         {SMG_ENDPOINT_CHAT, R"({"model":"m","messages":[]})", BodyFault::bad_value},
         {SMG_ENDPOINT_CHAT, R"({"model":"m","messages":[ ] })", BodyFault::bad_value}});
}

TEST_CASE("a user message has text or parts") {
  for (const std::uint32_t needs : {0u, kText}) {
    const auto fault = [&](std::string messages) {
      CAPTURE(messages);
      return Reading(R"({"model":"m","messages":[)" + messages + "]}", SMG_ENDPOINT_CHAT, needs)
          .error.fault;
    };
    CHECK(fault(R"({"role":"user","content":""})") == BodyFault::bad_value);
    CHECK(fault(R"({"content":"","role":"user"})") == BodyFault::bad_value);
    CHECK(fault(R"({"role":"user","content":[]})") == BodyFault::bad_value);
    CHECK(fault(R"({"role":"user","content":[ ]})") == BodyFault::bad_value);
    CHECK(fault(R"({"role":"\u0075ser","c\u006fntent":""})") == BodyFault::bad_value);
    CHECK(fault(R"({"role":"user","content":"x"},{"role":"user","content":""})") ==
          BodyFault::bad_value);
    CHECK(fault(R"({"role":"user","content":"x","content":""})") == BodyFault::bad_value);
    CHECK(fault(R"({"role":"user","content":"","content":"x"})") == BodyFault::none);
    CHECK(fault(R"({"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]})") ==
          BodyFault::none);
    CHECK(fault(R"({"role":"user","content":" "})") == BodyFault::none);
    CHECK(fault(R"({"role":"system","content":""})") == BodyFault::none);
    CHECK(
        fault(
            R"({"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":[]})") ==
        BodyFault::none);
  }
}

TEST_CASE("the message in error is named by its position") {
  const Reading reading(
      R"({"model":"m","messages":[{"role":"user","content":"x"},{"role":"user","content":""}]})",
      SMG_ENDPOINT_CHAT);
  CHECK(reading.error.message.find("message 2 ") != std::string::npos);
}

TEST_CASE("stream is a boolean") {
  const char* const body =
      R"({"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1,"prompt":"p","input":"i","stream":"yes"})";
  for (const std::uint32_t endpoint :
       {SMG_ENDPOINT_CHAT, SMG_ENDPOINT_COMPLETIONS, SMG_ENDPOINT_GENERATE, SMG_ENDPOINT_MESSAGES,
        SMG_ENDPOINT_RESPONSES}) {
    check({{endpoint, body, BodyFault::wrong_shape}});
  }
}

TEST_CASE("completions, messages and responses need their own fields") {
  check(
      {{SMG_ENDPOINT_COMPLETIONS, R"({"model":"m"})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":5})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_COMPLETIONS, R"({"model":"m","prompt":["a"]})", BodyFault::none},
       {SMG_ENDPOINT_MESSAGES, R"({"model":"m","messages":[]})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_MESSAGES, R"({"model":"m","max_tokens":5})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_MESSAGES, R"({"model":"m","messages":[{}],"max_tokens":"5"})",
        BodyFault::wrong_shape},
       {SMG_ENDPOINT_MESSAGES, R"({"model":"m","messages":[{}],"max_tokens":5})", BodyFault::none},
       {SMG_ENDPOINT_RESPONSES, R"({"model":"m"})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_RESPONSES, R"({"model":"m","input":"x","stream":null})", BodyFault::none}});
}

TEST_CASE("rerank checks query, documents and top_k") {
  check(
      {{SMG_ENDPOINT_RERANK, R"({"model":"m","documents":["d"]})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":5,"documents":["d"]})",
        BodyFault::wrong_shape},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q"})", BodyFault::wrong_shape},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":" \n\u0020","documents":["d"]})",
        BodyFault::bad_value},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"","documents":["d"]})", BodyFault::bad_value},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":[ ]})", BodyFault::bad_value},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"top_k":0})",
        BodyFault::bad_value},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"top_k":-3})",
        BodyFault::bad_value},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"top_k":1.5})",
        BodyFault::wrong_shape},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"top_k":"1"})",
        BodyFault::wrong_shape},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"top_k":null})",
        BodyFault::none},
       {SMG_ENDPOINT_RERANK, R"({"model":"m","query":"q","documents":["d"],"return_documents":1})",
        BodyFault::wrong_shape}});
}

TEST_CASE("the short rerank form is checked for shape, not for values") {
  const auto fault = [](const char* body) {
    return Reading(body, SMG_ENDPOINT_RERANK, Extractor::plain, 0).error.fault;
  };
  CHECK(fault(R"({"query":"q","documents":["d"]})") == BodyFault::none);
  CHECK(fault(R"({"query":" ","documents":[],"top_k":0})") == BodyFault::none);
  CHECK(fault(R"({"documents":["d"]})") == BodyFault::wrong_shape);
  CHECK(fault(R"({"query":"q","documents":"d"})") == BodyFault::wrong_shape);
}

TEST_CASE("a body that is no object is of the wrong type") {
  for (const char* body : {"[]", " [1,2] ", "5", "-1.5e3", "\"text\"", "null", " true "}) {
    check({{SMG_ENDPOINT_CHAT, body, BodyFault::wrong_shape},
           {SMG_ENDPOINT_GENERATE, body, BodyFault::wrong_shape}});
  }
  for (const char* body :
       {"[", "[1,2", "[1]]", "5 5", "nul", "nulls", "\"text", "text", "1.5.", "]", "-", "[1],"}) {
    check({{SMG_ENDPOINT_CHAT, body, BodyFault::malformed},
           {SMG_ENDPOINT_GENERATE, body, BodyFault::malformed}});
  }
}

}  // namespace smg::testing
