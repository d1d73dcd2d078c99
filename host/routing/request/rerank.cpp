#include "host/routing/request/rerank.hpp"

#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/json_string.hpp"

namespace smg {
namespace {

namespace json = boost::json;

void append_number(std::string& out, auto number) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end);
}

// Shortest decimal forms, so that 0.95 stays 0.95. Nesting is bounded by the parser's limit.
void append_value(std::string& out, const json::value& value) {  // NOLINT(misc-no-recursion)
  switch (value.kind()) {
    case json::kind::null:
      out += "null";
      return;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case json::kind::int64:
      append_number(out, value.get_int64());
      return;
    case json::kind::uint64:
      append_number(out, value.get_uint64());
      return;
    case json::kind::double_:
      append_number(out, value.get_double());
      return;
    case json::kind::string:
      append_quoted(out, {value.get_string().data(), value.get_string().size()});
      return;
    case json::kind::array: {
      char separator = '[';
      for (const json::value& element : value.get_array()) {
        out += separator;
        append_value(out, element);
        separator = ',';
      }
      out += separator == '[' ? "[]" : "]";
      return;
    }
    case json::kind::object: {
      char separator = '{';
      for (const auto& [key, element] : value.get_object()) {
        out += separator;
        append_quoted(out, {key.data(), key.size()});
        out += ':';
        append_value(out, element);
        separator = ',';
      }
      out += separator == '{' ? "{}" : "}";
      return;
    }
  }
}

bool is_result(const json::value& value) {
  const json::object* result = value.if_object();
  if (result == nullptr) return false;
  const json::value* score = result->if_contains("score");
  const json::value* index = result->if_contains("index");
  return score != nullptr && score->is_number() && index != nullptr &&
         (index->is_uint64() || (index->is_int64() && index->get_int64() >= 0));
}

}  // namespace

RerankTerms rerank_terms(std::string_view body, const RequestFacts& facts, std::string_view model) {
  return {std::string(model), std::string(facts.rid.in(body)), facts.top_k, facts.return_documents};
}

std::uint64_t short_rerank_body(std::string_view body, const RequestFacts& facts,
                                std::int64_t dp_rank, std::string& scratch,
                                std::vector<smg_view>& pieces) {
  scratch = R"(,"model":"unknown","return_documents":true)";
  if (dp_rank != kNoRank) {
    scratch += ",\"data_parallel_rank\":";
    append_number(scratch, dp_rank);
  }
  scratch += '}';
  std::uint64_t total = 0;
  for (const std::string_view piece : {std::string_view(R"({"query":)"), facts.query.in(body),
                                       std::string_view(R"(,"documents":)"),
                                       facts.documents.in(body), std::string_view(scratch)}) {
    pieces.push_back({piece.data(), piece.size()});
    total += piece.size();
  }
  return total;
}

bool build_rerank_answer(std::string_view worker_body, const RerankTerms& terms,
                         std::int64_t created, std::string& answer) {
  json::error_code error;
  json::value parsed = json::parse({worker_body.data(), worker_body.size()}, error);
  json::array* results = error ? nullptr : parsed.if_array();
  if (results == nullptr) return false;
  for (const json::value& result : *results) {
    if (!is_result(result)) return false;
  }
  if (terms.top_k != 0 && terms.top_k < results->size()) results->resize(terms.top_k);
  if (!terms.return_documents) {
    for (json::value& result : *results) result.get_object().erase("document");
  }

  answer = "{\"results\":";
  append_value(answer, parsed);
  answer += ",\"model\":";
  append_quoted(answer, terms.model);
  answer += ",\"usage\":null,\"object\":\"rerank\",\"id\":";
  answer += terms.id.empty() ? "null" : terms.id;
  answer += ",\"created\":";
  append_number(answer, created);
  answer += '}';
  return true;
}

}  // namespace smg
