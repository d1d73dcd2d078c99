// What an engine says of itself in its JSON documents: models, runtime, and labels. Documents that
// are no JSON or of another shape add nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smg::http {

class EngineFacts {
 public:
  using Label = std::pair<std::string, std::string>;

  // GET /v1/models.
  void add_models(std::string_view json);
  // GET /version.
  void add_version(std::string_view json);
  // GET /server_info and GET /model_info.
  void add_server_info(std::string_view json);
  void add_model_info(std::string_view json);
  // What the list of models says about the first of them, as labels where none stands yet.
  void label_first_model();

  const std::vector<std::string>& models() const { return models_; }
  const std::vector<Label>& labels() const { return labels_; }
  // The runtime that the list of models names as owner; empty: none that is known.
  std::string_view owner() const { return owner_; }

 private:
  void add_label(std::string_view key, std::string_view value);
  void add_labels(std::string_view json, const std::string_view* keys, std::size_t count);

  std::vector<std::string> models_;
  std::vector<Label> first_model_;
  std::vector<Label> labels_;
  std::string_view owner_;
};

}  // namespace smg::http
