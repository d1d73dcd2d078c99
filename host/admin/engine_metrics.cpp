#include "host/admin/engine_metrics.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace smg {
namespace {

bool is_name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

std::string_view take_name(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && is_name_char(rest[size], size == 0)) ++size;
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
}

bool take(std::string_view& rest, char expected) {
  skip_blanks(rest);
  if (rest.empty() || rest.front() != expected) return false;
  rest.remove_prefix(1);
  return true;
}

bool is_number(std::string_view text) {
  static constexpr std::array<std::string_view, 7> kWords = {"NaN", "Inf",  "+Inf", "-Inf",
                                                             "nan", "+inf", "-inf"};
  if (std::find(kWords.begin(), kWords.end(), text) != kWords.end()) return true;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  });
  return plain && text.find_first_of("0123456789") != std::string_view::npos;
}

// `# TYPE name rest` or `# HELP name rest`.
bool read_comment(std::string_view line, std::string_view word, std::string_view& name,
                  std::string_view& rest) {
  line.remove_prefix(1);
  skip_blanks(line);
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  skip_blanks(line);
  name = take_name(line);
  skip_blanks(line);
  rest = line;
  return !name.empty();
}

// The family that a sample belongs to: that of its own name, or without the suffix of a histogram
// or summary that was announced.
template <class Map>
std::string_view family_of(std::string_view name, const Map& families) {
  if (families.contains(name)) return name;
  for (const std::string_view suffix : {"_bucket", "_sum", "_count", "_total", "_created"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string_view stem = name.substr(0, name.size() - suffix.size());
    if (families.contains(stem)) return stem;
  }
  return name;
}

}  // namespace

std::optional<EngineMetrics::Sample> EngineMetrics::read_sample(std::string_view line) {
  Sample sample;
  sample.name = take_name(line);
  if (sample.name.empty() || sample.name.size() > kLongestName) return std::nullopt;
  if (take(line, '{')) {
    while (!take(line, '}')) {
      skip_blanks(line);
      const std::string key(take_name(line));
      if (key.empty() || key.size() > kLongestName || sample.labels.size() >= kMostLabels ||
          !take(line, '=') || !take(line, '"')) {
        return std::nullopt;
      }
      std::size_t end = 0;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (end >= line.size()) return std::nullopt;
      sample.labels.insert_or_assign(key, std::string(line.substr(0, end)));
      line.remove_prefix(end + 1);
      take(line, ',');
    }
  }
  skip_blanks(line);
  if (!is_number(line.substr(0, line.find(' ')))) return std::nullopt;
  sample.rest = line;
  return sample;
}

bool EngineMetrics::add(std::string_view text, std::string_view worker_addr) {
  std::string renamed(text);
  std::replace(renamed.begin(), renamed.end(), ':', '_');
  Families added;
  auto keys = keys_;
  std::string_view rest = renamed;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    skip_blanks(line);
    if (line.empty()) continue;
    if (line.front() == '#') {
      std::string_view name, value;
      if (read_comment(line, "HELP ", name, value)) added[std::string(name)].help = value;
      if (read_comment(line, "TYPE ", name, value)) added[std::string(name)].type = value;
      continue;
    }
    auto sample = read_sample(line);
    if (!sample) return false;
    sample->labels.insert_or_assign("worker_addr", std::string(worker_addr));
    Keys& of_name = keys[sample->name];
    for (const auto& [key, value] : sample->labels) of_name.insert(key);
    if (of_name.size() > kMostLabels) return false;
    const std::string family(family_of(sample->name, added));
    added[family].samples.push_back(std::move(*sample));
  }
  keys_ = std::move(keys);
  for (auto& [name, family] : added) {
    if (family.samples.empty()) continue;
    Family& known = families_[name];
    if (known.help.empty()) known.help = std::move(family.help);
    if (known.type.empty()) known.type = std::move(family.type);
    std::move(family.samples.begin(), family.samples.end(), std::back_inserter(known.samples));
  }
  return true;
}

bool EngineMetrics::append(std::string& out, const Sample& sample, const Keys& keys) {
  out += sample.name;
  char separator = '{';
  for (const auto& key : keys) {
    const auto own = sample.labels.find(key);
    out += separator;
    out += key;
    out += "=\"";
    if (own != sample.labels.end()) out += own->second;
    out += '"';
    separator = ',';
  }
  out += "} " + sample.rest + "\n";
  return out.size() <= kLongestText;
}

std::optional<std::string> EngineMetrics::text() const {
  std::string out;
  for (const auto& [name, family] : families_) {
    if (!family.help.empty()) out += "# HELP " + name + " " + family.help + "\n";
    if (!family.type.empty()) out += "# TYPE " + name + " " + family.type + "\n";
    for (const auto& sample : family.samples) {
      if (!append(out, sample, keys_.find(sample.name)->second)) return std::nullopt;
    }
  }
  return out;
}

}  // namespace smg
