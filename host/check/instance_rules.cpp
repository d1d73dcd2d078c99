#include <cmath>
#include <limits>

#include "host/base/views.hpp"
#include "host/check/exercise.hpp"
#include "host/check/rules.hpp"
#include "host/config/plugin_options.hpp"

namespace smg::check {
namespace {

constexpr int kSelections = 500;

Finding create(Subject& subject) {
  std::string problem;
  auto first = subject.rig.create(subject.plugin, subject.options, problem);
  if (first == nullptr) {
    return broken(problem, "accept your own defaults; what has none is given with --options FILE");
  }
  auto second = subject.create();
  subject.rig.destroy(std::move(first));
  subject.rig.destroy(std::move(second));
  return passed("two instances side by side, one after the other destroyed");
}

// Values at the ends of what the descriptor allows.
std::vector<OptionValue> ends(const smg_option& option) {
  const bool ranged = option.minimum <= option.maximum;
  const bool above = option.exclusive_minimum != 0;
  switch (option.type) {
    case SMG_OPTION_BOOL:
      return {false, true};
    case SMG_OPTION_INT: {
      if (!ranged) return {};
      constexpr double kMost = 9.2e18;
      const auto whole = [](double value) {
        return value >= kMost    ? std::numeric_limits<std::int64_t>::max()
               : value <= -kMost ? std::numeric_limits<std::int64_t>::min()
                                 : static_cast<std::int64_t>(value);
      };
      return {whole(std::ceil(option.minimum)) + (above ? 1 : 0), whole(option.maximum)};
    }
    case SMG_OPTION_FLOAT:
      if (!ranged) return {};
      return {above ? std::nextafter(option.minimum, option.maximum) : option.minimum,
              option.maximum};
    case SMG_OPTION_STRING: {
      std::vector<OptionValue> all;
      for (std::uint32_t i = 0; i < option.choice_count; ++i) {
        all.emplace_back(std::string(text(option.choices[i])));
      }
      return all;
    }
    default:
      return {std::vector<std::string>{}};
  }
}

// What goes with what is not in a descriptor: a refusal may name another option.
bool names_another(const std::string& problem, const smg_plugin& descriptor,
                   const std::string& name) {
  for (std::uint32_t i = 0; i < descriptor.option_count; ++i) {
    const auto other = text(descriptor.options[i].name);
    if (other != name && problem.find(other) != std::string::npos) return true;
  }
  return false;
}

std::string shown(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&value)) return "\"" + *word + "\"";
  return "[]";
}

Finding options(Subject& subject) {
  const smg_plugin& descriptor = subject.plugin->descriptor;
  if (descriptor.option_count == 0) return skipped("it has none");
  int tried = 0;
  for (std::uint32_t i = 0; i < descriptor.option_count; ++i) {
    const smg_option& option = descriptor.options[i];
    const std::string name(text(option.name));
    for (const OptionValue& value : ends(option)) {
      PluginOptions given = subject.options;
      given[name] = value;
      std::string problem;
      auto instance = subject.rig.create(subject.plugin, given, problem);
      if (instance != nullptr) {
        subject.rig.destroy(std::move(instance));
      } else if (!names_another(problem, descriptor, name)) {
        return broken(name + " = " + shown(value) + ", which the descriptor allows: " + problem,
                      "narrow what the descriptor allows, or accept it; where it does not go "
                      "with another option, name that one");
      }
      ++tried;
    }
    // A text that fits no choice stops at the host. Any other may be refused, with a reason.
    if (option.type != SMG_OPTION_STRING || option.choice_count > 0) continue;
    PluginOptions given = subject.options;
    given[name] = std::string("/no/such/thing \xc3\xa4 %n%s");
    std::string problem;
    auto instance = subject.rig.create(subject.plugin, given, problem);
    if (instance != nullptr) subject.rig.destroy(std::move(instance));
    if (problem.find("without a reason") != std::string::npos) {
      return broken(name + " with a value that it does not like: " + problem,
                    "write a sentence into `error`: the thing, its value, what would be right");
    }
    ++tried;
  }
  return passed(std::to_string(descriptor.option_count) + " options, " + std::to_string(tried) +
                " values at the ends of their ranges");
}

Finding no_exception(Subject& subject) {
  const Trouble trouble = exercise(subject.rig, subject.plugin, subject.options, kSelections);
  if (trouble.rule == "exception") {
    return broken(trouble.problem, "catch it inside; nothing may be thrown across the ABI");
  }
  return passed("none came out");
}

Finding life(Subject& subject) {
  const Trouble trouble = exercise(subject.rig, subject.plugin, subject.options, kSelections);
  if (trouble) return broken(trouble.rule + ": " + trouble.problem, "see the rules below");
  return passed("created, used and destroyed as the gateway does it at a reload");
}

constexpr Rule kRules[] = {{"create", create, 10, false},
                           {"options", options, 60, false},
                           {"exception", no_exception, 10, false},
                           {"life", life, 10, false}};

}  // namespace

std::span<const Rule> instance_rules() {
  return kRules;
}

}  // namespace smg::check
