#include "engine_facts.hpp"

#include <algorithm>
#include <boost/json/src.hpp>

namespace smg::http {
namespace {

namespace json = boost::json;

constexpr std::string_view kServerInfo[] = {"model_path",
                                            "served_model_name",
                                            "tp_size",
                                            "dp_size",
                                            "pp_size",
                                            "load_balance_method",
                                            "disaggregation_mode",
                                            "version",
                                            "is_embedding",
                                            "context_length",
                                            "max_total_tokens",
                                            "max_running_requests",
                                            "weight_version"};
constexpr std::string_view kModelInfo[] = {"model_path",
                                           "tokenizer_path",
                                           "is_generation",
                                           "has_image_understanding",
                                           "has_audio_understanding",
                                           "model_type"};

json::value parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  return error ? json::value() : value;
}

std::string_view string_of(const json::value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

// Text as it is, numbers and truth values written out, anything else as JSON. Empty: no value.
std::string label_of(const json::value* value) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_string()) return std::string(string_of(value));
  return json::serialize(*value);
}

std::string_view runtime_of_owner(std::string_view owner) {
  if (owner == "sglang" || owner == "nvidia") return "sglang";
  if (owner == "vllm") return "vllm";
  if (owner == "trtllm") return "trtllm";
  return {};
}

}  // namespace

void EngineFacts::add_label(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  const auto known = [&](const Label& label) { return label.first == key; };
  if (std::any_of(labels_.begin(), labels_.end(), known)) return;
  labels_.emplace_back(key, value);
}

void EngineFacts::add_labels(std::string_view text, const std::string_view* keys,
                             std::size_t count) {
  const json::value document = parse(text);
  const json::object* object = document.if_object();
  if (object == nullptr) return;
  for (std::size_t i = 0; i < count; ++i) {
    add_label(keys[i], label_of(object->if_contains({keys[i].data(), keys[i].size()})));
  }
}

void EngineFacts::add_models(std::string_view text) {
  const json::value document = parse(text);
  const json::object* object = document.if_object();
  const json::value* data = object == nullptr ? nullptr : object->if_contains("data");
  if (data == nullptr || !data->is_array()) return;
  for (const json::value& entry : data->get_array()) {
    const json::object* card = entry.if_object();
    if (card == nullptr) continue;
    const std::string_view id = string_of(card->if_contains("id"));
    if (id.empty()) continue;
    if (models_.empty()) {
      owner_ = runtime_of_owner(string_of(card->if_contains("owned_by")));
      const std::string_view root = string_of(card->if_contains("root"));
      if (!root.empty()) first_model_.emplace_back("model_path", root);
      first_model_.emplace_back("served_model_name", id);
      first_model_.emplace_back("max_model_len", label_of(card->if_contains("max_model_len")));
    }
    models_.emplace_back(id);
  }
}

void EngineFacts::label_first_model() {
  for (const Label& label : first_model_) add_label(label.first, label.second);
}

void EngineFacts::add_version(std::string_view text) {
  constexpr std::string_view kVersion[] = {"version"};
  add_labels(text, kVersion, std::size(kVersion));
}

void EngineFacts::add_server_info(std::string_view text) {
  const json::value document = parse(text);
  if (const json::object* object = document.if_object(); object != nullptr) {
    std::string model = label_of(object->if_contains("model_id"));
    if (model.empty()) model = label_of(object->if_contains("model"));
    add_label("model_id", model);
  }
  add_labels(text, kServerInfo, std::size(kServerInfo));
}

void EngineFacts::add_model_info(std::string_view text) {
  add_labels(text, kModelInfo, std::size(kModelInfo));
  const json::value document = parse(text);
  const json::object* object = document.if_object();
  const json::value* list = object == nullptr ? nullptr : object->if_contains("architectures");
  if (list == nullptr || !list->is_array()) return;
  std::string names;
  for (const json::value& name : list->get_array()) {
    if (!names.empty()) names += ',';
    names += string_of(&name);
  }
  add_label("architectures", names);
}

}  // namespace smg::http
