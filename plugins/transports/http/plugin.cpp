// The plugin `http`: requests to engines over HTTP/1.1, in the clear or with TLS.
#include "smg/plugin.h"

#include "endpoint.hpp"
#include "probe.hpp"
#include "transport.hpp"

namespace smg::http {
namespace {

constexpr smg_view kSchemes[] = {view("http"), view("https")};

Transport& instance(void* self) {
  return *static_cast<Transport*>(self);
}
Endpoint& endpoint_of(void* endpoint) {
  return *static_cast<Endpoint*>(endpoint);
}
Exchange* find(void* self, uint64_t stream) {
  return instance(self).here().exchanges.find(stream);
}

smg_status create(const smg_host* host, const smg_sink* sink, void** self, smg_error* error) {
  return guard(error, [&] {
    *self = new Transport(host, sink);
    return SMG_OK;
  });
}

void destroy(void* self) {
  instance(self).end();
}

smg_status open(void* self, const smg_worker* worker, void** endpoint, smg_error* error) {
  return guard(error, [&] {
    *endpoint = new Endpoint(instance(self), *worker);
    return SMG_OK;
  });
}

void quiesce(void* endpoint) noexcept {
  Transport& transport = endpoint_of(endpoint).transport();
  endpoint_of(endpoint).quiesce(transport.here().index, transport.on_control_loop());
}

void close(void* endpoint) {
  delete &endpoint_of(endpoint);
}

void probe(void* endpoint, const smg_probe* probe, smg_probe_done done, void* context) noexcept {
  Probe::start(endpoint_of(endpoint), *probe, done, context);
}

void start(void* endpoint, const smg_request* request, uint64_t ticket, uint64_t* stream) noexcept {
  Transport& transport = endpoint_of(endpoint).transport();
  Exchange::start(transport.here(), endpoint_of(endpoint), *request, transport.sink(), ticket,
                  stream);
}

void pause(void* self, uint64_t stream) noexcept {
  if (Exchange* exchange = find(self, stream); exchange != nullptr) exchange->pause();
}

void resume(void* self, uint64_t stream) noexcept {
  if (Exchange* exchange = find(self, stream); exchange != nullptr) exchange->resume();
}

void cancel(void* self, uint64_t stream) noexcept {
  if (Exchange* exchange = find(self, stream); exchange != nullptr) exchange->cancel();
}

constexpr smg_transport_api kApi = {
    sizeof(smg_transport_api),
    std::size(kSchemes),
    kSchemes,
    nullptr,
    0,
    0,
    create,
    destroy,
    open,
    quiesce,
    close,
    probe,
    start,
    pause,
    resume,
    cancel,
};

}  // namespace
}  // namespace smg::http

const smg_library* smg_plugin_entry() {
  using namespace smg;
  static const smg_plugin plugin = {
      sizeof(smg_plugin),
      SMG_KIND_TRANSPORT,
      view("http"),
      view("0.1.0"),
      view("smg"),
      view("HTTP/1.1 to engines, in the clear or with TLS, over kept-alive connections"),
      http::option_table().data(),
      static_cast<uint32_t>(http::option_table().size()),
      SMG_PLUGIN_UNLOADABLE,
      &http::kApi,
      nullptr,
  };
  static const smg_library library = {
      SMG_PLUGIN_MAGIC,  SMG_ABI_MAJOR, SMG_ABI_MINOR,      sizeof(smg_library), 1,
      view(__VERSION__), &plugin,       sizeof(smg_plugin),
  };
  return &library;
}
