// puppet: a transport whose engines do what a test tells them. It answers requests itself: plain
// ones at once, streams are left open.
#include "endpoint.hpp"
#include "smg/cpp/transport.hpp"

namespace puppet {
namespace {

class Transport {
 public:
  static constexpr smg_view kSchemes[] = {smg::view("ipc")};

  Transport(smg::Host host, const smg_sink* sink)
      : host_(host), sink_(sink), streams_(std::make_shared<Streams>(host, sink)) {}

  std::unique_ptr<Endpoint> open(const smg_worker& worker) {
    return std::make_unique<Endpoint>(host_, sink_, streams_, worker);
  }
  // What a stream has to say is little: it is said all the same.
  void pause(uint64_t) {}
  void resume(uint64_t) {}
  void cancel(uint64_t stream) { streams_->cancel(stream); }

 private:
  smg::Host host_;
  const smg_sink* sink_;
  std::shared_ptr<Streams> streams_;
};

}  // namespace
}  // namespace puppet

SMG_EXPORT_PLUGINS(smg::transport<puppet::Transport>(
    {.name = "puppet",
     .version = "1.0",
     .vendor = "tests",
     .summary = "Engines that do what a test tells them over a socket"}));
