// Which policy instance chooses for which model.
//
// One instance, of the policy that the configuration names, serves every model for which nobody
// asks otherwise, and requests that name no model. Another one serves a model
//   - that [policy] models names; models with the same policy there share it, or else
//   - whose first worker has a label `policy`. The model then has an instance of its own: with the
//     operator's options if the label names the default policy, else with the policy's defaults for
//     that case (smg_option.label_default). Upper case and missing underscores are forgiven; a name
//     that no plugin has is a warning, and the default instance.
// Labels of later workers, and changed ones, have no effect until the last worker has left.
//
// Control thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/snapshot.hpp"

namespace smg {

class PolicyChoice {
 public:
  enum class Options : std::uint8_t { configured, by_label };
  // Makes an instance of a policy; nullptr, and a sentence in `error`, if it cannot be made.
  using Make = std::function<std::shared_ptr<const PolicyRef>(std::string_view policy,
                                                              Options options, std::string& error)>;

  // `names`: of the policies that there are.
  PolicyChoice(const PolicyConfig& config, std::vector<std::string> names, Make make);

  // Makes the instances that the configuration asks for. Nothing, or why one cannot be made.
  std::string prepare();
  // REQUIRES: prepare() had nothing to say. `first`: see Registry::PolicyFor.
  std::shared_ptr<const PolicyRef> choose(std::string_view model, const Worker* first) const;

 private:
  std::shared_ptr<const PolicyRef> by_label(std::string_view model, std::string_view label) const;

  const PolicyConfig& config_;
  const std::vector<std::string> names_;
  const Make make_;
  std::map<std::string, std::shared_ptr<const PolicyRef>, std::less<>> configured_;  // by policy
};

}  // namespace smg
