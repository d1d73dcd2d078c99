// A load source as a class, what it keeps per worker as another. All of it on the control thread:
//
//   class Mine {
//    public:
//     explicit Mine(smg::Host host);                                  optional, may throw
//     uint32_t match(const smg_worker& worker);                       0..100
//     std::unique_ptr<Source> attach(const smg_worker& worker);       may throw
//   };
//   struct Source {                                                   destroyed by detach
//     void poll(uint64_t ticket, uint64_t timeout_ns, smg_poll_done done);
//   };
//   SMG_EXPORT_PLUGINS(smg::monitor<Mine>({.name = "mine", ...}))
//
// A Source without poll() is one that only pushes. If poll() throws, that text is the answer: so it
// does not throw once it has answered. A match() that throws does not match.
#pragma once

#include <memory>

#include "smg/cpp/host.hpp"
#include "smg/cpp/plugin.hpp"
#include "smg/cpp/policy.hpp"
#include "smg/monitor.h"

namespace smg {

namespace detail {

template <class M>
struct MonitorTable {
  using Self = Instance<M>;
  using Source =
      typename decltype(std::declval<M&>().attach(std::declval<const smg_worker&>()))::element_type;
  static Self& self(void* raw) { return *static_cast<Self*>(raw); }

  static smg_status create(const smg_host* raw, void** out, smg_error* error) noexcept {
    return guard(error, [&] {
      const Host host(raw);
      *out = new Self{host, make<M>(host)};
      return SMG_OK;
    });
  }
  static void destroy(void* raw) noexcept { delete static_cast<Self*>(raw); }

  static uint32_t match(void* raw, const smg_worker* worker) noexcept {
    uint32_t score = 0;
    self(raw).host.shield([&] { score = self(raw).object->match(*worker); });
    return score;
  }
  static smg_status attach(void* raw, const smg_worker* worker, void** out,
                           smg_error* error) noexcept {
    return guard(error, [&] {
      *out = self(raw).object->attach(*worker).release();
      return SMG_OK;
    });
  }
  static void detach(void* raw) noexcept { delete static_cast<Source*>(raw); }

  static void poll(void* raw, uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) noexcept {
    char room[256];
    smg_error error{room, sizeof room, 0};
    const smg_status status = guard(&error, [&] {
      static_cast<Source*>(raw)->poll(ticket, timeout_ns, done);
      return SMG_OK;
    });
    if (status == SMG_OK) return;
    done(ticket, nullptr, SMG_NO_REPORT_ERROR, smg_view{error.text, error.size});
  }

  static constexpr smg_monitor_api make_table() {
    smg_monitor_api api{};
    api.struct_size = sizeof api;
    api.create = create;
    api.destroy = destroy;
    api.match = match;
    api.attach = attach;
    api.detach = detach;
    if constexpr (requires { &Source::poll; }) api.poll = poll;
    return api;
  }
  static constexpr smg_monitor_api kTable = make_table();
};

}  // namespace detail

// The descriptor of monitor M, for SMG_EXPORT_PLUGINS.
template <class M>
constexpr smg_plugin monitor(const About& about) {
  return describe(SMG_KIND_MONITOR, about, &detail::MonitorTable<M>::kTable);
}

}  // namespace smg
