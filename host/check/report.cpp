#include "host/check/report.hpp"

#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "host/check/child.hpp"
#include "host/check/exercise.hpp"
#include "host/check/library_file.hpp"
#include "host/check/options_file.hpp"
#include "host/check/rules.hpp"
#include "host/config/plugin_options.hpp"
#include "host/metrics/utf8.hpp"

namespace smg::check {
namespace {

constexpr unsigned kLoadSeconds = 10;

// What the parent knows of a plugin: it never opens the library itself.
struct Listed {
  std::uint32_t kind = 0;
  std::string name;
};

class Report {
 public:
  explicit Report(const Command& command) : command_(command) {}

  void subject(const std::string& name) {
    subject_ = name;
    if (!command_.json) std::cout << "\n" << name << "\n";
  }
  void add(std::string_view rule, const Finding& finding) {
    if (!command_.rule.empty() && command_.rule != rule) return;
    static constexpr const char* kWords[] = {"ok", "FAIL", "skipped"};
    const auto number = static_cast<std::size_t>(finding.kind);
    ++counts_[number];
    const std::string text = valid_utf8(finding.text);
    if (command_.json) {
      rules_.push_back({{"subject", subject_},
                        {"rule", rule},
                        {"result", number == 1 ? "failed" : kWords[number]},
                        {"text", text},
                        {"advice", valid_utf8(finding.advice)}});
      return;
    }
    std::printf("  %-7s %-20.*s %s\n", kWords[number], static_cast<int>(rule.size()), rule.data(),
                text.c_str());
    if (!finding.advice.empty()) std::printf("          %-20s -> %s\n", "", finding.advice.c_str());
    std::fflush(stdout);
  }
  int finish() {
    if (counts_[0] + counts_[1] + counts_[2] == 0) {
      std::cerr << "smg-plugin-check: " << command_.file << ": no rule '" << command_.rule
                << "' applies to it, or one that comes before it is broken\n";
      return 2;
    }
    if (command_.json) {
      std::cout << boost::json::serialize(boost::json::object{{"file", command_.file},
                                                              {"ok", counts_[1] == 0},
                                                              {"passed", counts_[0]},
                                                              {"failed", counts_[1]},
                                                              {"skipped", counts_[2]},
                                                              {"rules", std::move(rules_)}})
                << "\n";
    } else {
      std::cout << "\n"
                << counts_[0] << " rules kept, " << counts_[1] << " broken, " << counts_[2]
                << " skipped" << (command_.full ? "" : " (--full runs the long ones too)") << "\n";
    }
    return counts_[1] == 0 ? 0 : 1;
  }

 private:
  const Command& command_;
  std::string subject_;
  boost::json::array rules_;
  int counts_[3] = {0, 0, 0};
};

// Opens the library in a child; what it lists comes back as lines, a flag for unloadable first.
Finding look_inside(const Command& command, const Node& document) {
  Trouble trouble;
  const auto library = LibraryFile::open(command.file, trouble.rule, trouble.problem);
  if (library == nullptr) {
    return broken(trouble.problem, "smg/plugin.h says what the table of a library holds");
  }
  std::string lines = library->unloadable() ? "1\n" : "0\n";
  for (const auto& plugin : library->plugins()) {
    std::vector<std::string> unknown;
    std::string problem;
    options_for(plugin->descriptor, document, problem, unknown);
    if (!unknown.empty()) problem = unknown.front() + ": the plugin has no such option";
    if (!problem.empty()) return broken(command.options_file + ": " + problem, "correct the file");
    lines += std::to_string(plugin->kind()) + " " + std::string(plugin->name()) + "\n";
  }
  return passed(lines);
}

std::vector<Listed> parse(std::string_view lines, bool& unloadable) {
  std::vector<Listed> all;
  unloadable = lines.starts_with("1");
  lines.remove_prefix(2);
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    all.push_back(
        {static_cast<std::uint32_t>(lines[0] - '0'), std::string(lines.substr(2, end - 2))});
    lines.remove_prefix(end + 1);
  }
  return all;
}

Finding run(const Command& command, const Node& document, const Listed& which, const Rule& rule) {
  return in_child(rule.seconds, [&] {
    Trouble trouble;
    const auto library = LibraryFile::open(command.file, trouble.rule, trouble.problem);
    if (library == nullptr) return broken(trouble.problem, "it loaded before: what has changed?");
    Finding finding;
    {
      Subject subject(command, document, library->find(which.kind, which.name));
      finding = guarded([&] { return rule.check(subject); });
    }
    return finding;
  });
}

void check_plugin(Report& report, const Command& command, const Node& document,
                  const Listed& which) {
  report.subject(std::string(plugin_kind_name(which.kind)) + " " + which.name);
  std::vector<std::span<const Rule>> sets{instance_rules()};
  if (which.kind == SMG_KIND_POLICY) sets.push_back(policy_rules());
  if (which.kind == SMG_KIND_MONITOR) sets.push_back(monitor_rules());
  if (which.kind == SMG_KIND_TRANSPORT) {
    sets.push_back(transport_rules());
    sets.push_back(cancel_rules());
  }
  sets.push_back(handover_rules());
  sets.push_back(endurance_rules());
  for (const auto& set : sets) {
    for (const Rule& rule : set) {
      if (command.rule.empty() ? rule.full && !command.full : command.rule != rule.id) continue;
      const Finding finding = run(command, document, which, rule);
      report.add(rule.id, finding);
      // Without an instance there is nothing to check.
      if (finding.failed() && std::string_view(rule.id) == "create") return;
    }
  }
}

}  // namespace

int report(const Command& command) {
  std::string problem;
  Node document;
  if (!command.options_file.empty()) {
    document = read_options_file(command.options_file, problem);
    if (!problem.empty()) {
      std::cerr << "smg-plugin-check: " << command.options_file << ": " << problem << "\n";
      return 2;
    }
  }
  const std::string content = read_file(command.file, problem);
  if (!problem.empty()) {
    std::cerr << "smg-plugin-check: " << command.file << " " << problem << "\n";
    return 2;
  }
  Report report(command);
  report.subject(command.file);
  for (const auto& rule : file_rules(command.file, content)) {
    report.add(rule.id, rule.finding);
    if (rule.finding.failed() && std::string_view(rule.id) == "elf") return report.finish();
  }
  Finding inside = in_child(kLoadSeconds, [&] { return look_inside(command, document); });
  if (inside.kind != Finding::Kind::ok) {
    report.add("descriptor", inside);
    return report.finish();
  }
  bool unloadable = false;
  const auto plugins = parse(inside.text, unloadable);
  inside.text.clear();
  for (const auto& plugin : plugins) {
    inside.text += (inside.text.empty() ? "" : ", ") + std::string(plugin_kind_name(plugin.kind)) +
                   " " + plugin.name;
  }
  report.add("descriptor", inside);
  for (const auto& rule : unload_rules(content, unloadable)) report.add(rule.id, rule.finding);
  bool any = false;
  for (const auto& plugin : plugins) {
    if (!command.kind.empty() && kind_of(command.kind) != plugin.kind) continue;
    any = true;
    check_plugin(report, command, document, plugin);
  }
  if (!any) {
    std::cerr << "smg-plugin-check: " << command.file << " has no " << command.kind << "\n";
    return 2;
  }
  return report.finish();
}

}  // namespace smg::check
