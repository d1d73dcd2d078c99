#include "transport.hpp"

#include "smg/cpp/log.hpp"

namespace smg::http {

Transport::Transport(const smg_host* host, const smg_sink* sink)
    : services_(Host(host)),
      settings_(read_settings(Host(host), services_.loops())),
      sink_(*sink),
      tls_(Log(Host(host))) {
  if (settings_.tls.given()) common_tls_ = tls_.get(settings_.tls);
  if (settings_.tls.insecure) {
    Log(Host(host))
        .warn(
            "insecure_skip_verify is on: certificates of https workers are not checked, anyone on "
            "the "
            "network path can read and change what is sent");
  }
  for (uint32_t i = 0; i < services_.loops(); ++i) {
    loops_.push_back(std::make_unique<LoopState>(*this, i));
  }
}

}  // namespace smg::http
