// The engines' own metrics, merged into one exposition.
//
// In each text `:` becomes `_`, every sample gets the label worker_addr, and families of one name
// come together. Samples of one name get the same labels, those that an engine does not have with
// an empty value. Pure, one thread at a time; the texts are the engines', so anything may be in
// them, and what they can make of this is bounded.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smg {

class EngineMetrics {
 public:
  static constexpr std::size_t kMostLabels = 64;         // of the samples of one name
  static constexpr std::size_t kLongestName = 256;       // of a sample or label
  static constexpr std::size_t kLongestText = 64 << 20;  // that comes out

  // False, and nothing is added, if `text` is no exposition or is out of these bounds.
  bool add(std::string_view text, std::string_view worker_addr);
  bool empty() const { return families_.empty(); }
  // Nothing if it would be longer than kLongestText.
  std::optional<std::string> text() const;

 private:
  using Labels = std::map<std::string, std::string, std::less<>>;  // values as they are escaped
  using Keys = std::set<std::string, std::less<>>;
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
  static bool append(std::string& out, const Sample& sample, const Keys& keys);

  Families families_;
  std::map<std::string, Keys, std::less<>> keys_;  // by the samples' name
};

}  // namespace smg
