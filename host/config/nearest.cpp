#include "host/config/nearest.hpp"

#include <algorithm>
#include <vector>

namespace smg {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known) {
  if (wrong.size() > 200) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(wrong.size() < 4 ? 1 : 2, wrong.size() / 3) + 1;
  for (const auto word : known) {
    // Each letter more is one step.
    if (std::max(wrong.size(), word.size()) - std::min(wrong.size(), word.size()) >= best_distance)
      continue;
    const std::size_t d = distance(wrong, word);
    if (d < best_distance) {
      best = word;
      best_distance = d;
    }
  }
  return best;
}

std::string suggestion(std::string_view wrong, std::span<const std::string_view> known) {
  const std::string_view word = nearest(wrong, known);
  return word.empty() ? "" : "; did you mean " + std::string(word) + "?";
}

}  // namespace smg
