// A transport as a class, its endpoints as another:
//
//   class Mine {
//    public:
//     static constexpr smg_view kSchemes[] = {smg::view("mine")};
//     Mine(smg::Host host, const smg_sink* sink);                      may throw
//     std::unique_ptr<Endpoint> open(const smg_worker& worker);        may throw
//     void pause(uint64_t stream), resume(uint64_t stream), cancel(uint64_t stream);
//   };
//   struct Endpoint {                                                  destroyed by close
//     void start(const smg_request& request, uint64_t ticket, uint64_t* stream);
//     void probe(const smg_probe& probe, smg_probe_done done, void* context);
//     void quiesce();
//   };
//   SMG_EXPORT_PLUGINS(smg::transport<Mine>({.name = "mine", ...}))
//
// kRuntimes, likewise, is optional. Threads and order are those of smg/transport.h. If start()
// throws, the stream ends as refused with that text; if probe() throws, the worker is unwell with
// that text: so neither throws once it has answered. What the others throw is logged.
#pragma once

#include <iterator>
#include <memory>

#include "smg/cpp/host.hpp"
#include "smg/cpp/plugin.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/transport.h"

namespace smg {

namespace detail {

template <class T>
struct TransportTable {
  struct Self {
    Host host;
    const smg_sink* sink;
    std::unique_ptr<T> object;
  };
  using Endpoint =
      typename decltype(std::declval<T&>().open(std::declval<const smg_worker&>()))::element_type;
  struct Open {
    Self* transport;
    std::unique_ptr<Endpoint> endpoint;
  };
  static Self& self(void* raw) { return *static_cast<Self*>(raw); }
  static Open& opened(void* raw) { return *static_cast<Open*>(raw); }

  static smg_status create(const smg_host* raw, const smg_sink* sink, void** out,
                           smg_error* error) noexcept {
    return guard(error, [&] {
      const Host host(raw);
      *out = new Self{host, sink, std::make_unique<T>(host, sink)};
      return SMG_OK;
    });
  }
  static void destroy(void* raw) noexcept { delete static_cast<Self*>(raw); }

  static smg_status open(void* raw, const smg_worker* worker, void** out,
                         smg_error* error) noexcept {
    return guard(error, [&] {
      *out = new Open{&self(raw), self(raw).object->open(*worker)};
      return SMG_OK;
    });
  }
  static void quiesce(void* raw) noexcept {
    opened(raw).transport->host.shield([&] { opened(raw).endpoint->quiesce(); });
  }
  static void close(void* raw) noexcept { delete static_cast<Open*>(raw); }

  static void probe(void* raw, const smg_probe* probe, smg_probe_done done,
                    void* context) noexcept {
    char room[256];
    smg_error error{room, sizeof room, 0};
    const smg_status status = guard(&error, [&] {
      opened(raw).endpoint->probe(*probe, done, context);
      return SMG_OK;
    });
    if (status == SMG_OK) return;
    smg_probe_result result{};
    result.struct_size = sizeof result;
    result.detail = {error.text, error.size};
    done(context, &result);
  }

  static void start(void* raw, const smg_request* request, uint64_t ticket,
                    uint64_t* stream) noexcept {
    char room[256];
    smg_error error{room, sizeof room, 0};
    const smg_status status = guard(&error, [&] {
      opened(raw).endpoint->start(*request, ticket, stream);
      return SMG_OK;
    });
    if (status == SMG_OK) return;
    smg_outcome outcome{};
    outcome.struct_size = sizeof outcome;
    outcome.kind = SMG_END_REFUSED;
    outcome.detail = {error.text, error.size};
    opened(raw).transport->sink->end(ticket, &outcome);
  }
  static void pause(void* raw, uint64_t stream) noexcept {
    self(raw).host.shield([&] { self(raw).object->pause(stream); });
  }
  static void resume(void* raw, uint64_t stream) noexcept {
    self(raw).host.shield([&] { self(raw).object->resume(stream); });
  }
  static void cancel(void* raw, uint64_t stream) noexcept {
    self(raw).host.shield([&] { self(raw).object->cancel(stream); });
  }

  static constexpr smg_transport_api make_table() {
    smg_transport_api api{};
    api.struct_size = sizeof api;
    api.schemes = std::data(T::kSchemes);
    api.scheme_count = static_cast<uint32_t>(std::size(T::kSchemes));
    if constexpr (requires { T::kRuntimes; }) {
      api.runtimes = std::data(T::kRuntimes);
      api.runtime_count = static_cast<uint32_t>(std::size(T::kRuntimes));
    }
    api.create = create;
    api.destroy = destroy;
    api.open = open;
    api.quiesce = quiesce;
    api.close = close;
    api.probe = probe;
    api.start = start;
    api.pause = pause;
    api.resume = resume;
    api.cancel = cancel;
    return api;
  }
  static constexpr smg_transport_api kTable = make_table();
};

}  // namespace detail

// The descriptor of transport T, for SMG_EXPORT_PLUGINS.
template <class T>
constexpr smg_plugin transport(const About& about) {
  return describe(SMG_KIND_TRANSPORT, about, &detail::TransportTable<T>::kTable);
}

}  // namespace smg
