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

PolicyChoice::PolicyChoice(PolicyConfig config, Names names, Make make)
    : config_(std::move(config)), names_(std::move(names)), make_(std::move(make)) {}

std::string PolicyChoice::prepare() {
  std::string error;
  configured_ = prepare_for(
      config_, make_, [](std::string_view) { return false; }, error);
  return error;
}

PolicyChoice::Configured PolicyChoice::prepare_for(
    const PolicyConfig& config, const Make& make,
    const std::function<bool(std::string_view policy)>& keep, std::string& error) const {
  std::vector<std::string_view> wanted{config.name};
  for (const auto& [model, policy] : config.models) wanted.push_back(policy);
  Configured configured;
  for (const auto policy : wanted) {
    if (configured.contains(policy)) continue;
    const auto present = configured_.find(policy);
    auto made = present != configured_.end() && keep(policy)
                    ? present->second
                    : make(policy, Options::configured, error);
    if (made == nullptr) return {};
    configured.emplace(policy, std::move(made));
  }
  return configured;
}

void PolicyChoice::reconfigure(PolicyConfig config, Configured configured) {
  config_ = std::move(config);
  configured_ = std::move(configured);
}

PolicyPtr PolicyChoice::choose(std::string_view model, const Worker* first) {
  if (first != nullptr && !config_.models.contains(model)) {
    for (const auto& [key, value] : first->description().labels) {
      if (key != "policy") continue;
      if (auto own = by_label(model, value)) return own;
    }
  }
  return configured_.find(config_.name_for(model))->second;
}

PolicyPtr PolicyChoice::choose_again(std::string_view model, const Worker* first,
                                     const PolicyPtr& present) {
  if (first != nullptr && !config_.models.contains(model)) {
    for (const auto& own : labelled_) {
      if (own.ref.lock() != present) continue;
      const auto successor = own.successor.lock();
      return successor == nullptr ? present : successor;
    }
  }
  return configured_.find(config_.name_for(model))->second;
}

std::vector<PolicyChoice::Instance> PolicyChoice::instances(std::string_view policy) const {
  std::vector<Instance> found;
  if (const auto own = configured_.find(policy); own != configured_.end()) {
    found.push_back({own->second, Options::configured});
  }
  for (const auto& own : labelled_) {
    auto ref = own.ref.lock();
    if (ref != nullptr && ref->name == policy && own.successor.expired()) {
      found.push_back({std::move(ref), own.options});
    }
  }
  return found;
}

bool PolicyChoice::is_labelled(const PolicyPtr& ref) const {
  return std::any_of(labelled_.begin(), labelled_.end(),
                     [&](const Labelled& own) { return own.ref.lock() == ref; });
}

void PolicyChoice::replace(const PolicyPtr& before, const PolicyPtr& after) {
  for (auto& [policy, ref] : configured_) {
    if (ref == before) ref = after;
  }
  for (std::size_t i = 0; i < labelled_.size(); ++i) {
    if (labelled_[i].ref.lock() != before) continue;
    labelled_[i].successor = after;
    labelled_.push_back({after, {}, labelled_[i].options});
  }
}

PolicyPtr PolicyChoice::by_label(std::string_view model, std::string_view label) {
  std::erase_if(labelled_, [](const Labelled& own) { return own.ref.expired(); });
  const auto names = names_();
  const auto known = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return plain(name) == plain(label);
  });
  std::string error = "there is no such policy";
  if (known != names.end()) {
    const auto options = *known == config_.name ? Options::configured : Options::by_label;
    if (auto made = make_(*known, options, error)) {
      labelled_.push_back({made, {}, options});
      return made;
    }
  }
  spdlog::warn("model {}: its first worker's label policy = '{}' has no effect, {} chooses: {}",
               model, label, config_.name, error);
  return nullptr;
}

}  // namespace smg
