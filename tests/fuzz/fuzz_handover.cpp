// Any bytes as the state that cache_aware takes over, the first of them as the choice of its index:
// the instance is empty or its books are right, it chooses, and what it hands over is read.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "cache_aware.hpp"
#include "fake_host.hpp"
#include "fake_pool.hpp"
#include "handover.hpp"
#include "option_defaults.hpp"

namespace {

using cache_aware::CacheAware;
using cache_aware::ModelState;

void require(bool holds) {
  if (!holds) std::abort();
}

// The policy on three workers of a model "m".
class Instance {
 public:
  explicit Instance(bool hashes) : fleet_(3), pool_(fleet_.pool()) {
    host_.time = 1'000'000'000'000;
    smg::test::set_defaults(host_);
    if (hashes) host_.strings["cache_index"] = "hash";
    host_.strings["cache_boundaries"] = "16,64";
    policy_ = std::make_unique<CacheAware>(smg::Host(host_.raw()));
    policy_->pool_changed(nullptr, pool_->raw());
  }

  void take(std::string_view state) {
    if (import(state)) {
      smg::test::StateKeeper keeper;
      smg::StateWriter writer(keeper.writer());
      policy_->export_state(writer);
      writer.flush();
      model().forget();
      require(import(keeper.bytes()));
    }
    smg_policy_request request{};
    request.text = smg::view("a prompt");
    require(policy_->select(smg::Request(request), smg::Pool(*pool_->raw())).has_value());
    model().forget();
    require(size() == 0);
  }

 private:
  ModelState& model() const { return *policy_->models().list()->at(0); }
  uint64_t size() const {
    return model().strings.size() + model().tokens.size() + model().placement.size() +
           model().index.size();
  }

  bool import(std::string_view state) {
    try {
      policy_->import_state(CacheAware::kStateFormat, state);
    } catch (const smg::Error& error) {
      require(error.status() == SMG_E_INVALID && size() == 0);
      return false;
    }
    check(model().strings);
    check(model().tokens);
    require(model().placement.recount() == model().placement.size());
    require(model().index.recount().memberships == model().index.size());
    return true;
  }

  template <class Tree>
  static void check(const Tree& tree) {
    const auto census = tree.recount();
    require(census.faults == 0 && census.total == tree.size());
  }

  smg::test::FakeHost host_;
  smg::test::FakeFleet fleet_;
  std::unique_ptr<smg::test::FakePool> pool_;
  std::unique_ptr<CacheAware> policy_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Instance trees(false), hashes(true);
  if (size == 0) return 0;
  const std::string_view state(reinterpret_cast<const char*>(data) + 1, size - 1);
  (data[0] % 2 == 0 ? trees : hashes).take(state);
  return 0;
}
