// Which policy instance chooses for a model: worked example K of the policies' specification.
#include "host/fleet/policy_choice.hpp"

#include <doctest/doctest.h>

#include "registry_bench.hpp"

using namespace smg;

namespace {

// Makes instances that are names only: `least_load/configured`, `cache_aware/by_label`.
struct Choice {
  explicit Choice(const std::string& name, StringMap models = {}) {
    config.name = name;
    config.models = std::move(models);
    const auto make = [this](std::string_view policy, PolicyChoice::Options options,
                             std::string& error) -> std::shared_ptr<const PolicyRef> {
      if (policy == refused) {
        error = "it does not want to";
        return nullptr;
      }
      auto ref = std::make_shared<PolicyRef>();
      ref->api = &bench.policy_api;
      ref->name = std::string(policy) +
                  (options == PolicyChoice::Options::configured ? "/configured" : "/by_label");
      return ref;
    };
    choice = std::make_unique<PolicyChoice>(
        config,
        [] {
          return std::vector<std::string>{"cache_aware", "least_load", "random"};
        },
        make);
    problem = choice->prepare();
    bench.policy_for = [this](std::string_view model, const Worker* first) {
      return choice->choose(model, first);
    };
  }
  ~Choice() { bench.policy_for = nullptr; }

  std::shared_ptr<Worker> add(const std::string& url, const std::string& model,
                              const std::string& label = "") {
    auto worker =
        label.empty() ? bench.add(url, model) : bench.add(url, model, {{"policy", label}});
    bench.registry->publish();
    return worker;
  }
  std::shared_ptr<const PolicyRef> of(const std::string& model) {
    return bench.registry->snapshot()->find(model)->policy;
  }

  PolicyConfig config;
  std::string refused;
  std::unique_ptr<PolicyChoice> choice;
  std::string problem;
  test::RegistryBench bench;
};

}  // namespace

TEST_CASE(
    "K: a label that names the default policy makes an instance with the operator's options") {
  Choice c("least_load");
  c.add("http://a", "plain");
  c.add("http://b", "m", "LeastLoad");
  CHECK(c.of("m")->name == "least_load/configured");
  CHECK(c.of("m") != c.of("plain"));
}

TEST_CASE("K: a label that names another policy makes an instance with that policy's defaults") {
  Choice c("least_load");
  c.add("http://a", "m", "cache_aware");
  CHECK(c.of("m")->name == "cache_aware/by_label");
  c.add("http://b", "m", "random");  // comes second: ignored
  CHECK(c.of("m")->name == "cache_aware/by_label");
}

TEST_CASE("K: models without a label share the default instance") {
  Choice c("least_load");
  c.add("http://a", "m");
  c.add("http://b", "n");
  CHECK(c.of("m") == c.of("n"));
  CHECK(c.of("m")->name == "least_load/configured");
}

TEST_CASE("K: a label that no policy has, or that makes none, leaves the default instance") {
  Choice c("least_load");
  c.refused = "random";
  c.add("http://a", "m", "foo");
  c.add("http://b", "n", "random");
  c.add("http://c", "plain");
  CHECK(c.of("m") == c.of("plain"));
  CHECK(c.of("n") == c.of("plain"));
}

TEST_CASE("K: when the last worker has left, the next one chooses again") {
  Choice c("least_load");
  const auto a = c.add("http://a", "m", "random");
  const auto b = c.add("http://b", "m");
  c.bench.registry->remove(a);
  c.bench.registry->publish();
  CHECK(c.of("m")->name == "random/by_label");
  c.bench.registry->remove(b);
  c.bench.registry->publish();
  c.add("http://c", "m", "cacheaware");
  CHECK(c.of("m")->name == "cache_aware/by_label");
}

TEST_CASE("K: an update of a worker is no join: the policy stays, and goes with the last worker") {
  Choice c("least_load");
  const auto a = c.add("http://a", "m", "random");
  const auto policy = c.of("m");
  for (int i = 0; i < 3; ++i) {
    const auto present = c.bench.registry->find_url("http://a");
    auto description = present->description();
    description.labels.clear();
    c.bench.registry->replace(present, std::move(description));
    c.bench.registry->publish();
    CHECK(c.of("m") == policy);
  }
  c.bench.registry->remove(c.bench.registry->find_url("http://a"));
  c.bench.registry->publish();
  c.add("http://b", "m");
  CHECK(c.of("m")->name == "least_load/configured");
}

TEST_CASE("what the configuration says of a model goes before a label") {
  Choice c("least_load", {{"m", "random"}, {"n", "random"}});
  c.add("http://a", "m", "cache_aware");
  c.add("http://b", "n");
  CHECK(c.of("m")->name == "random/configured");
  CHECK(c.of("m") == c.of("n"));
}

TEST_CASE("a configured policy that cannot be made is a problem at the start") {
  PolicyConfig config;
  config.name = "least_load";
  PolicyChoice choice(
      config, [] { return std::vector<std::string>{"least_load"}; },
      [](std::string_view, PolicyChoice::Options, std::string& error) {
        error = "needs an option";
        return std::shared_ptr<const PolicyRef>();
      });
  CHECK(choice.prepare() == "needs an option");
}
