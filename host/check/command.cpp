#include "host/check/command.hpp"

#include <charconv>

#include "host/config/plugin_options.hpp"

namespace smg::check {
namespace {

bool read_number(const std::string& text, int& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number >= 0;
}

}  // namespace

std::string_view usage() {
  return R"(usage: smg-plugin-check PLUGIN.so [options]

Checks that a plugin library keeps the rules of the ABI and tells, rule by rule, what it found.

  --full              the long rules as well: thousands of lives and reloads (a minute or more)
  --kind KIND         only plugins of that kind: policy, transport or monitor
  --rule RULE         only this rule, long or not
  --options FILE      create instances with the tables [policy.NAME] and so on of this TOML file
  --engine URL        a running engine, for transports of other schemes than http
  --uniform           the policy promises equal shares: hold it to that
  --json              the report as JSON
  --smoke             one short life in this process under limits, one line of JSON: what the gateway
                      does before it opens a library
  --verdict-fd N      where that line goes (1)

Exit code: 0 all rules kept, 1 a rule broken, 2 wrong usage.
)";
}

Command read_command(const std::vector<std::string>& words, std::string& problem) {
  Command command;
  for (std::size_t i = 0; i < words.size() && problem.empty(); ++i) {
    std::string name = words[i];
    std::string value;
    bool has_value = false;
    if (const auto equals = name.find('='); name.starts_with("--") && equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    }
    const auto take = [&](std::string& target) {
      if (!has_value) {
        if (++i >= words.size()) {
          problem = name + " needs a value";
          return;
        }
        value = words[i];
      }
      target = value;
    };
    std::string number;
    if (name == "--smoke") {
      command.smoke = true;
    } else if (name == "--full") {
      command.full = true;
    } else if (name == "--json") {
      command.json = true;
    } else if (name == "--uniform") {
      command.uniform = true;
    } else if (name == "--help" || name == "-h") {
      command.help = true;
      return command;
    } else if (name == "--options") {
      take(command.options_file);
    } else if (name == "--engine") {
      take(command.engine);
    } else if (name == "--rule") {
      take(command.rule);
    } else if (name == "--kind") {
      take(command.kind);
      if (problem.empty() && kind_of(command.kind) == 0) {
        problem = "--kind " + command.kind + ": must be policy, transport or monitor";
      }
    } else if (name == "--verdict-fd") {
      take(number);
      if (problem.empty() && !read_number(number, command.verdict_fd)) {
        problem = "--verdict-fd " + number + ": must be the number of an open descriptor";
      }
    } else if (name.starts_with("-")) {
      problem = name + ": unknown option (--help lists all)";
    } else if (!command.file.empty()) {
      problem = "'" + command.file + "' and '" + name + "': one library at a time";
    } else {
      command.file = name;
    }
  }
  if (problem.empty() && command.file.empty()) {
    problem = "no library is named; usage: smg-plugin-check PLUGIN.so (--help says more)";
  }
  return command;
}

}  // namespace smg::check
