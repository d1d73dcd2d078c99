// acme: a transport for the engines of an imaginary vendor, which speak a protocol of their own.
// README.md describes it. Workers are `acme://host[:port]`.
#include "endpoint.hpp"
#include "smg/cpp/transport.hpp"

namespace acme {
namespace {

class Transport {
 public:
  static constexpr smg_view kSchemes[] = {smg::view("acme")};

  Transport(smg::Host host, const smg_sink* sink) : services_(host, *sink) {
    for (uint32_t loop = 0; loop < services_.loops(); ++loop) {
      streams_.push_back(std::make_unique<Streams>(services_));
    }
  }

  std::unique_ptr<Endpoint> open(const smg_worker& worker) {
    return std::make_unique<Endpoint>(services_, streams_, worker);
  }
  void pause(uint64_t stream) { here().pause(stream); }
  void resume(uint64_t stream) { here().resume(stream); }
  void cancel(uint64_t stream) { here().cancel(stream); }

 private:
  Streams& here() { return *streams_[services_.loop.current()]; }

  Services services_;
  StreamsOfLoops streams_;
};

}  // namespace
}  // namespace acme

SMG_EXPORT_PLUGINS(smg::transport<acme::Transport>(
    {.name = "acme",
     .version = "1.0",
     .vendor = "example",
     .summary = "acme engines: JSON frames over TCP, many requests on one connection"}));
