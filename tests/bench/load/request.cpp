#include "request.hpp"

#include <boost/json.hpp>
#include <string_view>

namespace smg::bench {
namespace {

constexpr std::string_view kPadding =
    "Summarise the following report for an operator who has two minutes, name every number with "
    "its "
    "unit, and say which of the findings needs a decision today. ";

boost::json::object make_body(const Options& options, const std::string& question) {
  const bool stream = options.mode != Mode::kJson;
  boost::json::object body{
      {"model", options.model},
      {"messages",
       {{{"role", "system"},
         {"content", "You are a careful assistant. Answer in plain words and cite the source."}},
        {{"role", "user"}, {"content", question}}}},
      {"temperature", 0.7},
      {"top_p", 0.95},
      {"max_tokens", options.tokens == 0 ? 16U : options.tokens},
      {"presence_penalty", 0},
      {"frequency_penalty", 0},
      {"seed", 42},
      {"stop", boost::json::array{"</s>"}},
      {"user", "bench"},
      {"stream", stream},
  };
  if (stream) body["stream_options"] = {{"include_usage", true}};
  body["sim_tokens"] = options.tokens == 0 ? 16U : options.tokens;
  body["sim_interval_ms"] = options.interval_ms;
  return body;
}

}  // namespace

std::string make_request(const Options& options) {
  std::string question;
  auto body = boost::json::serialize(make_body(options, question));
  if (body.size() < options.body_bytes) {
    const auto missing = options.body_bytes - body.size();
    while (question.size() < missing) question += kPadding;
    question.resize(missing);
    body = boost::json::serialize(make_body(options, question));
  }
  return "POST " + options.path + " HTTP/1.1\r\nHost: " + options.host + ":" +
         std::to_string(options.port) +
         "\r\nUser-Agent: smg-load/1\r\nAccept: application/json\r\nAuthorization: Bearer sk-bench"
         "\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace smg::bench
