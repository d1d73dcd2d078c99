// The engines' own metrics, merged into one exposition.
//
// In each text `:` becomes `_`, every sample gets the label worker_addr, and families of one name
// come together. Samples of one name get the same labels, those that an engine does not have with
// an empty value. Pure, any thread; the texts are the engines', so anything may be in them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smg {

class EngineMetrics {
 public:
  // False, and nothing is added, if `text` is no exposition.
  bool add(std::string_view text, std::string_view worker_addr);
  bool empty() const { return families_.empty(); }
  std::string text() const;

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;  // values as they are escaped
  struct Sample {
    std::string name;
    Labels labels;
    std::string rest;  // value, and the timestamp if there is one
  };
  struct Family {
    std::string help, type;
    std::vector<Sample> samples;
  };
  using Families = std::map<std::string, Family, std::less<>>;

  static std::optional<Sample> read_sample(std::string_view line);

  Families families_;
};

}  // namespace smg
