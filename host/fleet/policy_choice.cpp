#include "host/fleet/policy_choice.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace smg {
namespace {

// `LeastLoad`, `least_load` and `leastload` are one name.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

PolicyChoice::PolicyChoice(const PolicyConfig& config, std::vector<std::string> names, Make make)
    : config_(config), names_(std::move(names)), make_(std::move(make)) {}

std::string PolicyChoice::prepare() {
  std::vector<std::string_view> wanted{config_.name};
  for (const auto& [model, policy] : config_.models) wanted.push_back(policy);
  for (const auto policy : wanted) {
    if (configured_.contains(policy)) continue;
    std::string error;
    auto made = make_(policy, Options::configured, error);
    if (made == nullptr) return error;
    configured_.emplace(policy, std::move(made));
  }
  return {};
}

std::shared_ptr<const PolicyRef> PolicyChoice::choose(std::string_view model,
                                                      const Worker* first) const {
  if (first != nullptr && !config_.models.contains(model)) {
    for (const auto& [key, value] : first->description().labels) {
      if (key != "policy") continue;
      if (auto own = by_label(model, value)) return own;
    }
  }
  return configured_.find(config_.name_for(model))->second;
}

std::shared_ptr<const PolicyRef> PolicyChoice::by_label(std::string_view model,
                                                        std::string_view label) const {
  const auto known = std::find_if(names_.begin(), names_.end(), [&](const std::string& name) {
    return plain(name) == plain(label);
  });
  std::string error = "there is no such policy";
  if (known != names_.end()) {
    const auto options = *known == config_.name ? Options::configured : Options::by_label;
    if (auto made = make_(*known, options, error)) return made;
  }
  spdlog::warn("model {}: its first worker's label policy = '{}' has no effect, {} chooses: {}",
               model, label, config_.name, error);
  return nullptr;
}

}  // namespace smg
