#include "exposition.hpp"

#include <charconv>

namespace smg::prometheus_scrape {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool read_number(std::string_view word, double& out) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data(), end, out);
  return error == std::errc() && next == end;
}

}  // namespace

Exposition::Exposition(const std::vector<std::string>& names) {
  for (const std::string& name : names) samples_.try_emplace(name);
}

void Exposition::read(std::string_view text) {
  for (auto& [name, samples] : samples_) samples = {};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    read_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void Exposition::read_line(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || line[begin] == '#') return;
  line.remove_prefix(begin);
  std::size_t head = line.rfind('}');
  head = head == std::string_view::npos ? line.find_first_of(kBlanks) : head + 1;
  if (head == std::string_view::npos) return;
  const std::string_view series = line.substr(0, head);
  const auto found = samples_.find(series.substr(0, series.find('{')));
  if (found == samples_.end()) return;
  const std::size_t value = line.find_first_not_of(kBlanks, head);
  if (value == std::string_view::npos) return;
  const std::size_t value_end = line.find_first_of(kBlanks, value);
  double number = 0;
  if (!read_number(line.substr(value, value_end - value), number)) return;
  found->second.sum += number;
  ++found->second.count;
}

const Samples* Exposition::first(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const auto found = samples_.find(name);
    if (found != samples_.end() && found->second.count > 0) return &found->second;
  }
  return nullptr;
}

}  // namespace smg::prometheus_scrape
