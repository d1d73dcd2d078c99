// The samples of an engine's /metrics text that a load report is made of.
//
// Line grammar: blank lines and lines that begin with '#' are skipped; the head of a line ends at
// its last '}', or at the first blank if there is none; the name is the head up to '{'; the value
// is the first word after the head. A line whose value is no number is dropped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace smg::prometheus_scrape {

// What one name adds up to over all its label sets.
struct Samples {
  double sum = 0;
  unsigned count = 0;
  double mean() const { return count == 0 ? 0 : sum / count; }
};

class Exposition {
 public:
  // Only these names are kept. The strings must outlive this object.
  explicit Exposition(const std::vector<std::string>& names);

  void read(std::string_view text);
  // The first of `names` that had a sample, or nullptr.
  const Samples* first(const std::vector<std::string>& names) const;

 private:
  void read_line(std::string_view line);

  std::map<std::string_view, Samples> samples_;
};

}  // namespace smg::prometheus_scrape
