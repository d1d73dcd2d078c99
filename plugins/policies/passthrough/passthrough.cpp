// passthrough: the first eligible worker, for gateways in front of a single one.
#include <string>

#include "smg/cpp/log.hpp"
#include "smg/cpp/policy.hpp"

namespace {

class Passthrough {
 public:
  explicit Passthrough(smg::Host host) : log_(host) {}

  std::optional<uint32_t> select(const smg::Request&, const smg::Pool& pool) {
    for (uint32_t i = 0; i < pool.size(); ++i) {
      if (pool.eligible(i)) return i;
    }
    return std::nullopt;
  }

  void pool_changed(const smg_pool*, const smg_pool* after) {
    if (warned_ || after == nullptr || after->count <= 1) return;
    warned_ = true;
    log_.warn("model " + std::string(smg::text(after->model)) + " has " +
              std::to_string(after->count) +
              " workers, of which passthrough always takes the first eligible one");
  }

 private:
  smg::Log log_;
  bool warned_ = false;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::policy<Passthrough>({.name = "passthrough",
                                             .version = "1.0",
                                             .vendor = "smg",
                                             .summary = "the first eligible worker"}));
