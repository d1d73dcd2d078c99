#include "endpoint.hpp"

#include "authority.hpp"
#include "probe.hpp"
#include "transport.hpp"

namespace smg::http {
namespace {

std::string host_field(const smg_worker& worker, bool tls) {
  const bool usual = worker.port == (tls ? 443u : 80u);
  std::string field = "Host: ";
  field += usual ? bracketed(text(worker.host)) : authority(text(worker.host), worker.port);
  field += "\r\n";
  return field;
}

std::shared_ptr<const TlsSource> tls_of(Transport& transport, const smg_worker& worker) {
  if (text(worker.scheme) != "https") return nullptr;
  try {
    return transport.tls(worker);
  } catch (const Error& error) {
    throw Error(error.status(), "worker " + std::string(text(worker.url)) + ": " + error.what());
  }
}

}  // namespace

Endpoint::Endpoint(Transport& transport, const smg_worker& worker)
    : transport_(transport),
      worker_(worker),
      tls_(tls_of(transport, worker)),
      base_path_(text(worker.base_path)),
      host_line_(host_field(worker, tls_ != nullptr)) {
  if (worker.host.size == 0 || worker.port == 0 || worker.port > 65535) {
    throw Error(SMG_E_INVALID, "worker URL `" + std::string(text(worker.url)) +
                                   "` names no host and port to connect to");
  }
  while (base_path_.ends_with('/')) base_path_.pop_back();
  for (uint32_t i = 0; i < transport.services().loops(); ++i) {
    loops_.push_back(std::make_unique<PerLoop>(transport.services(), transport.settings()));
  }
}

Endpoint::~Endpoint() = default;

void Endpoint::quiesce(uint32_t loop, bool control) {
  while (control && !probes_.empty()) probes_.back()->abandon();
  loops_[loop]->pool.close_all();
}

}  // namespace smg::http
