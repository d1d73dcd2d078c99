#include "host/config/priority_tables.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <system_error>

#include "host/config/checks.hpp"
#include "host/config/nearest.hpp"
#include "host/config/settings.hpp"

namespace smg {
namespace {

constexpr std::string_view kSection = "priority_scheduler";
constexpr std::array<std::string_view, 2> kTables = {"classes", "tenant_policies"};

// A key of a class. Its Setting says what is allowed.
struct Key {
  std::string_view name;
  Setting allowed;
  std::function<void(PriorityClass&, const OptionValue&)> set;
  bool required = true;
};

Setting setting(SettingKind kind, double minimum, double maximum, std::string_view reason = {}) {
  Setting made;
  made.kind = kind;
  made.minimum = minimum;
  made.maximum = maximum;
  made.reason = reason;
  return made;
}

template <class Member>
Key number(std::string_view name, double minimum, double maximum, Member PriorityClass::*to,
           std::string_view reason = {}) {
  return {name, setting(SettingKind::kInteger, minimum, maximum, reason),
          [to](PriorityClass& of, const OptionValue& value) {
            of.*to = static_cast<Member>(std::get<std::int64_t>(value));
          }};
}

const std::vector<Key>& class_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> made;
    made.push_back(number("reserved_floor", 0, 65535, &PriorityClass::reserved_floor));
    made.push_back({"reserved_per_slot", setting(SettingKind::kNumber, 0, 1),
                    [](PriorityClass& of, const OptionValue& value) {
                      of.reserved_per_slot = std::get<double>(value);
                    },
                    false});
    made.push_back(number("queue_size", 0, 1e7, &PriorityClass::queue_size));
    made.push_back(
        number("queue_timeout_secs", 1, 1e9, &PriorityClass::queue_timeout_secs, "Must be > 0"));
    made.push_back(number("starvation_threshold_secs", 1, 1e9,
                          &PriorityClass::starvation_threshold_secs, "Must be > 0"));
    made.push_back({"can_preempt", setting(SettingKind::kBool, 0, 0),
                    [](PriorityClass& of, const OptionValue& value) {
                      of.can_preempt = std::get<bool>(value);
                    }});
    return made;
  }();
  return keys;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string all;
  for (const auto name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

// Reads the two tables out of one file; `prefix` is what stands before their names in it.
class Reader {
 public:
  Reader(Draft& draft, const std::string& file, std::string prefix)
      : draft_(draft), file_(file), prefix_(std::move(prefix)) {}

  bool read(const Node& node) {
    if (std::find(kTables.begin(), kTables.end(), node.key) == kTables.end()) return false;
    title_ = prefix_ + node.key;
    if (node.kind != NodeKind::kTable) {
      fail(node, title_ + " = " + printable_value(node),
           "is " + std::string(describe_kind(node.kind)) + ", must be a table: [" + title_ +
               ".NAME]");
      return true;
    }
    for (const auto& child : node.children) {
      const std::string name = "[" + title_ + "." + printable_text(child.key) + "]";
      if (child.kind != NodeKind::kTable) {
        fail(child, title_ + "." + printable_text(child.key) + printable_unknown(child),
             "must be a table: " + name);
      } else if (node.key == "classes") {
        read_class(child, name);
      } else {
        read_tenant(child, name);
      }
    }
    return true;
  }
  void fail(const Node& node, const std::string& what, const std::string& reason) {
    draft_.problems.add(file_ + ":" + std::to_string(node.key_at.line) + ": " + what + ": " +
                        reason);
  }

 private:
  void read_class(const Node& table, const std::string& name) {
    const auto& known = defaults::kPriorityClasses;
    const auto found = std::find(known.begin(), known.end(), table.key);
    if (found == known.end()) {
      const std::string hint = suggestion(table.key, known);
      return fail(
          table, name,
          "unknown class" +
              (hint.empty() ? "; there are " + joined({known.begin(), known.end()}) : hint));
    }
    PriorityClass read;
    std::vector<std::string_view> names, missing;
    for (const auto& key : class_keys()) {
      names.push_back(key.name);
      const Node* node = value(table, name, key.name, key.allowed,
                               [&](const OptionValue& value) { key.set(read, value); });
      if (node == nullptr && key.required) missing.push_back(key.name);
    }
    check_names(table, name, names);
    if (!missing.empty()) {
      fail(table, name, "lacks " + joined(missing) + "; the table replaces the whole class");
    }
    draft_.config.priority_scheduler.classes[static_cast<std::size_t>(found - known.begin())] =
        read;
  }
  void read_tenant(const Node& table, const std::string& name) {
    Setting allowed;
    allowed.kind = SettingKind::kText;
    allowed.choices.assign(defaults::kPriorityClasses.begin(), defaults::kPriorityClasses.end());
    const Node* node = value(table, name, "max_class", allowed, [&](const OptionValue& value) {
      draft_.config.priority_scheduler.tenant_max_class[table.key] = std::get<std::string>(value);
    });
    if (node == nullptr) fail(table, name, "lacks max_class");
    check_names(table, name, {"max_class"});
  }
  template <class Set>
  const Node* value(const Node& table, const std::string& name, std::string_view key,
                    const Setting& allowed, Set set) {
    const auto node = std::find_if(table.children.begin(), table.children.end(),
                                   [&](const Node& child) { return child.key == key; });
    if (node == table.children.end()) return nullptr;
    OptionValue read;
    std::string reason;
    if (read_value(allowed, *node, read, reason)) {
      set(read);
    } else {
      fail(*node, name + " " + node->key + " = " + printable_value(*node), reason);
    }
    return &*node;
  }
  void check_names(const Node& table, const std::string& name,
                   const std::vector<std::string_view>& names) {
    for (const auto& child : table.children) {
      if (std::find(names.begin(), names.end(), child.key) != names.end()) continue;
      fail(child, name + " " + printable_text(child.key) + printable_unknown(child),
           "unknown key" + suggestion(child.key, names));
    }
  }

  Draft& draft_;
  const std::string& file_;
  const std::string prefix_;
  std::string title_;
};

}  // namespace

bool read_priority_table(Draft& draft, const Node& node) {
  if (!Reader(draft, draft.file, std::string(kSection) + ".").read(node)) return false;
  draft.origins[std::string(kSection) + "." + node.key] =
      draft.file + ":" + std::to_string(node.key_at.line) + ": [" + std::string(kSection) + "." +
      node.key + "]";
  return true;
}

void read_priority_file(Draft& draft) {
  const std::string& file = draft.config.priority_scheduler.config;
  if (file.empty()) return;
  const std::string where = origin(draft, "priority_scheduler.config");
  for (const auto table : kTables) {
    const auto found = draft.origins.find(std::string(kSection) + "." + std::string(table));
    if (found == draft.origins.end()) continue;
    draft.problems.add(found->second + ": stands beside priority_scheduler.config, the file " +
                       printable_text(file) + "; use one of the two");
  }
  if (file.ends_with(".yaml") || file.ends_with(".yml")) {
    draft.problems.add(where +
                       ": is a YAML file, and this version reads TOML; write the same keys as "
                       "[classes.interactive] reserved_floor = 8, and so on, and as "
                       "[tenant_policies.\"auth:acme\"] max_class = \"interactive\"");
    return;
  }
  std::error_code code;
  if (std::filesystem::exists(file, code) && !std::filesystem::is_regular_file(file, code)) {
    draft.problems.add(where + ": is no regular file, must be a TOML file");
    return;
  }
  ParsedCommand command;
  command.config_file = file;
  const Result<std::string> text = read_file(command);
  if (!text) {
    for (const auto& problem : text.problems.lines) draft.problems.add(where + ": " + problem);
    return;
  }
  ParseFailure failure;
  const Node root = parse_document(*text.value, failure);
  if (!failure.reason.empty()) {
    draft.problems.add(file + ":" + std::to_string(failure.at.line) + ":" +
                       std::to_string(failure.at.column) + ": " + failure.reason);
    return;
  }
  Reader reader(draft, file, "");
  for (const auto& node : root.children) {
    if (reader.read(node)) continue;
    reader.fail(node, printable_text(node.key) + printable_unknown(node),
                "unknown section; there are classes and tenant_policies");
  }
}

}  // namespace smg
