// A host of fakes whose metrics cost as little as the gateway's: no lock.
#pragma once

#include <string_view>

#include "fake_host.hpp"
#include "fake_policy.hpp"

namespace smg::test {

class QuietHost : public FakeHost {
 public:
  explicit QuietHost(std::uint32_t loops) : FakeHost(loops) {
    quiet_ = *FakeHost::raw();
    quiet_.service = [](const smg_host* host, const char* id) -> const void* {
      if (std::string_view(id) == SMG_SERVICE_METRICS) return &kMetrics;
      const auto* fake = static_cast<FakeHost*>(host->context);
      return fake->raw()->service(fake->raw(), id);
    };
  }
  const smg_host* quiet() const { return &quiet_; }

 private:
  static constexpr smg_metrics_service kMetrics = {
      sizeof(smg_metrics_service),
      0,
      [](const smg_host*, std::uint32_t, smg_view, smg_view, const smg_view*, std::uint32_t,
         const double*, std::uint32_t, std::uint64_t* family) {
        *family = 0;
        return SMG_OK;
      },
      [](const smg_host*, std::uint64_t, const smg_view*, std::uint32_t, std::uint64_t* series) {
        *series = 0;
        return SMG_OK;
      },
      [](const smg_host*, std::uint64_t, double) {},
      [](const smg_host*, std::uint64_t, double) {},
      [](const smg_host*, std::uint64_t, double) {}};

  smg_host quiet_{};
};

}  // namespace smg::test
