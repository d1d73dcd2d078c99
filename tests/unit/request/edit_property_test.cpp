#include <boost/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/request/reading.hpp"

namespace smg::testing {
namespace {

namespace json = boost::json;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::uint32_t pick(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  std::string object() {
    std::string body = space() + "{";
    const std::uint32_t count = pick(9);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i > 0) body += ",";
      body += space() + key() + space() + ":" + space() + value(0) + space();
    }
    return body + (count == 0 ? space() : "") + "}" + space();
  }

 private:
  std::string space() {
    static const char* const kSpaces[] = {"", "", "", " ", "\n", "\t  ", "\r\n"};
    return kSpaces[pick(std::size(kSpaces))];
  }
  std::string key() {
    std::string name(pick(4) == 0 ? "other" : name_of(static_cast<BodyKey>(pick(kTrackedKeys))));
    if (pick(2) == 0) name = std::string(name_of(static_cast<BodyKey>(pick(4))));
    if (pick(8) == 0) name = "model";
    if (pick(10) == 0) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(name[0]));
      name = escape + name.substr(1);
    }
    return "\"" + name + "\"";
  }
  std::string value(int depth) {
    static const char* const kScalars[] = {"null",
                                           "null",
                                           "false",
                                           "false",
                                           "true",
                                           "0",
                                           "-1.5e3",
                                           "123456789012",
                                           "\"\"",
                                           "\"a\"",
                                           "\"}{][,:\"",
                                           "\"\\\"\\\\\"",
                                           "\"\\u00e9\\ud83d\\ude00\"",
                                           "\"\u00e9 \U0001F600\"",
                                           "\"model\"",
                                           "\"null\""};
    const std::uint32_t kind = pick(10);
    if (depth > 2 || kind < 7) return kScalars[pick(std::size(kScalars))];
    std::string text = kind < 9 ? "[" : "{";
    const std::uint32_t count = pick(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i > 0) text += ",";
      if (kind == 9) text += key() + ":";
      text += space() + value(depth + 1) + space();
    }
    return text + (kind < 9 ? "]" : "}");
  }

  std::mt19937 random_;
};

bool goes(const json::object& object, BodyKey key) {
  const auto name = name_of(key);
  const json::value* value = object.if_contains({name.data(), name.size()});
  if (value == nullptr) return false;
  if (value->is_null()) return true;
  if (!value->is_bool()) return false;
  return !value->get_bool() || key == BodyKey::separate_reasoning ||
         key == BodyKey::stream_reasoning;
}

// The body without what the edits cover must be the pieces that are not inserted, in the same
// order.
bool keeps_other_bytes(std::string_view body, const EditList& list, std::string_view edited) {
  std::string rebuilt;
  std::size_t at = 0;
  for (const Edit& edit : list.edits()) {
    if (edit.offset < at) return false;
    rebuilt.append(body.substr(at, edit.offset - at)).append(edit.text.data, edit.text.size);
    at = edit.offset + edit.length;
  }
  rebuilt.append(body.substr(at));
  return rebuilt == edited;
}

}  // namespace

TEST_CASE("edited bodies parse to the original with exactly the wished changes") {
  Generator generator(20240817);
  int edited_bodies = 0;
  int read_bodies = 0;
  for (int round = 0; round < 40'000; ++round) {
    const std::string body = generator.object();
    CAPTURE(body);
    const Reading reading(body, SMG_ENDPOINT_GENERATE);
    json::object expected = json::parse(body).as_object();
    const json::value* model = expected.if_contains("model");
    const json::value* stream = expected.if_contains("stream");
    const bool model_ok = model == nullptr || model->is_string() || model->is_null();
    const bool stream_ok = stream == nullptr || stream->is_bool() || stream->is_null();
    REQUIRE(static_cast<bool>(reading.error) == !(model_ok && stream_ok));
    if (reading.error) continue;
    ++read_bodies;
    if (model != nullptr && model->is_string()) {
      REQUIRE(json::string_view(reading.facts.model) == model->as_string());
    }

    const std::int64_t rank = generator.pick(2) == 0 ? kNoRank : 7;
    const bool rewrite = generator.pick(2) == 0;
    const std::string canonical = rewrite ? "canon\"\\\u00e9" : reading.facts.model;
    for (unsigned i = 0; i < kStrippedKeys; ++i) {
      const auto key = static_cast<BodyKey>(i);
      if (goes(expected, key)) expected.erase({name_of(key).data(), name_of(key).size()});
    }
    if (rewrite && expected.contains("model")) expected["model"] = canonical;
    if (rank != kNoRank) expected["data_parallel_rank"] = rank;

    const std::string edited = outbound(reading, canonical, rank);
    json::error_code error;
    const json::value parsed = json::parse(edited, error);
    CAPTURE(edited);
    REQUIRE_FALSE(error);
    REQUIRE(parsed == json::value(expected));
    if (edited != body) ++edited_bodies;

    const EditList strips = plan_edits(reading.body, reading.facts, true, {});
    REQUIRE(keeps_other_bytes(reading.body, strips, outbound(reading, reading.facts.model)));
  }
  CHECK(read_bodies > 10'000);
  CHECK(edited_bodies > 5'000);
}

}  // namespace smg::testing
