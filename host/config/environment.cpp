#include "host/config/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/settings.hpp"

namespace smg {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  constexpr std::string_view kBetween = ", \t\r\n";
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace

void read_environment(Draft& draft) {
  for (const Setting& setting : all_settings()) {
    if (setting.env.empty() || draft.origins.contains(setting.name())) continue;
    const char* text = std::getenv(std::string(setting.env).c_str());
    if (text == nullptr || *text == '\0') continue;
    const std::string where = "environment variable " + std::string(setting.env);
    OptionValue value;
    std::string reason;
    const auto words =
        setting.takes_many() ? split(text) : std::vector<std::string>{std::string(text)};
    if (!read_value(setting, words, value, reason)) {
      draft.problems.add(where + ": " + reason);
      continue;
    }
    setting.set(draft.config, value);
    draft.origins[setting.name()] = where;
  }
}

}  // namespace smg
