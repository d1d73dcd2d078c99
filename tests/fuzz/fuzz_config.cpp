// Any bytes as a configuration file: a verdict comes back, within the limits of its length. The
// first line may carry flags behind `#!`, so that both roads into the configuration are walked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/views.hpp"
#include "host/config/load.hpp"

namespace {

smg_plugin sample_plugin() {
  static const smg_view kChoices[] = {smg::view("tree"), smg::view("hash")};
  static const smg_option kOptions[] = {
      {sizeof(smg_option),
       SMG_OPTION_INT,
       smg::view("size"),
       smg::view("16"),
       smg::view("size"),
       1,
       1024,
       nullptr,
       0,
       0,
       smg::view("size"),
       {}},
      {sizeof(smg_option),
       SMG_OPTION_STRING,
       smg::view("index"),
       smg::view("\"tree\""),
       smg::view("index"),
       1,
       0,
       kChoices,
       2,
       0,
       smg::view("index"),
       {}},
  };
  smg_plugin plugin{};
  plugin.struct_size = sizeof(smg_plugin);
  plugin.kind = SMG_KIND_POLICY;
  plugin.name = smg::view(smg::defaults::kPolicy);
  plugin.options = kOptions;
  plugin.option_count = 2;
  return plugin;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const smg_plugin kPlugin = sample_plugin();
  const smg_plugin* const plugins[] = {&kPlugin};
  const std::string input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  if (input.starts_with("#!")) {
    std::istringstream line(input.substr(2, input.find('\n') - 2));
    for (std::string word; line >> word;) words.push_back(word);
  }
  std::vector<const char*> arguments;
  for (const auto& word : words) arguments.push_back(word.c_str());
  const smg::ParsedCommand command = smg::parse_command_line(arguments);
  auto draft = smg::read_text(command, input, "fuzz");
  if (!draft) {
    if (draft.problems.empty()) std::abort();
    return 0;
  }
  const auto config = smg::finish(std::move(*draft.value), plugins);
  if (config.problems.empty() != static_cast<bool>(config)) std::abort();
  if (config.problems.lines.size() > smg::Problems::kMaxProblems) std::abort();
  for (const auto& problem : config.problems.lines) {
    if (problem.empty() || problem.find('\n') != std::string::npos) std::abort();
  }
  if (config && smg::summary(*config.value).empty()) std::abort();
  return 0;
}
