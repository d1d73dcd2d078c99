// What is wrong with a configuration: sentences for people, in the order in which they were found.
//
// At most kMaxProblems are kept, the rest is counted: nobody reads two hundred lines at once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smg {

struct Problems {
  static constexpr std::size_t kMaxProblems = 20;

  std::vector<std::string> lines;
  std::size_t dropped = 0;

  bool empty() const { return lines.empty(); }
  void add(std::string line) {
    if (lines.size() < kMaxProblems) {
      lines.push_back(std::move(line));
    } else {
      ++dropped;
    }
  }
  // One line per problem, each with its newline.
  std::string text() const {
    std::string all;
    for (const auto& line : lines) all += line + "\n";
    if (dropped > 0) all += "and " + std::to_string(dropped) + " more\n";
    return all;
  }
};

// A value, or the reasons why there is none.
template <class T>
struct Result {
  std::optional<T> value;
  Problems problems;

  explicit operator bool() const { return value.has_value(); }
};

}  // namespace smg
