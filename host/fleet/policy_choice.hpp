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
#include <utility>
#include <vector>

#include "host/config/config.hpp"
#include "host/fleet/snapshot.hpp"

namespace smg {

class PolicyChoice {
 public:
  enum class Options : std::uint8_t { configured, by_label };
  // Makes an instance of a policy; nullptr, and a sentence in `error`, if it cannot be made.
  using Make =
      std::function<PolicyPtr(std::string_view policy, Options options, std::string& error)>;
  // The names of the policies that there are.
  using Names = std::function<std::vector<std::string>()>;

  PolicyChoice(PolicyConfig config, Names names, Make make);

  // Makes the instances that the configuration asks for. Nothing, or why one cannot be made.
  std::string prepare();
  // REQUIRES: prepare() had nothing to say. `first`: see Registry::PolicyFor.
  PolicyPtr choose(std::string_view model, const Worker* first);
  // The same where `present` chooses so far: it stays, or whoever took its place, unless the
  // configuration now names another one. See Registry::PolicyAgain.
  PolicyPtr choose_again(std::string_view model, const Worker* first, const PolicyPtr& present);

  struct Instance {
    PolicyPtr ref;
    Options options;
  };
  // Those of the policy that serve now.
  std::vector<Instance> instances(std::string_view policy) const;
  // It was made for one model, whose label asked for it.
  bool is_labelled(const PolicyPtr& ref) const;
  // `after` takes the place of `before` from now on.
  void replace(const PolicyPtr& before, const PolicyPtr& after);

  // Instances for another configuration, made with `make`: those that it needs and that `keep` does
  // not let stay. Nothing has changed yet; an empty map and a sentence in `error` on failure.
  using Configured = std::map<std::string, PolicyPtr, std::less<>>;  // by policy
  Configured prepare_for(const PolicyConfig& config, const Make& make,
                         const std::function<bool(std::string_view policy)>& keep,
                         std::string& error) const;
  void reconfigure(PolicyConfig config, Configured configured);

 private:
  struct Labelled {
    std::weak_ptr<const PolicyRef> ref;
    std::weak_ptr<const PolicyRef> successor;  // what took its place
    Options options;
  };

  PolicyPtr by_label(std::string_view model, std::string_view label);

  PolicyConfig config_;
  const Names names_;
  const Make make_;
  Configured configured_;
  std::vector<Labelled> labelled_;
};

}  // namespace smg
