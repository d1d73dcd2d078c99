// The host as a plugin sees it: a source of services. A handle, copied freely, valid until destroy.
//
// Each service has a class in a header of its own (log.hpp, options.hpp, loop.hpp, ...), made from
// a Host: `smg::Options options(host);`. The look-up happens in that constructor, so make them
// once.
#pragma once

#include <string>

#include "smg/cpp/error.hpp"
#include "smg/cpp/view.hpp"
#include "smg/host.h"

namespace smg {

class Host {
 public:
  explicit Host(const smg_host* raw) : raw_(raw) {}
  const smg_host* raw() const { return raw_; }

  // The table of a service, or nullptr where this host has no such service.
  template <class Table>
  const Table* find(const char* id) const {
    return static_cast<const Table*>(raw_->service(raw_, id));
  }

  // The same, but throws SMG_E_UNSUPPORTED.
  template <class Table>
  const Table* require(const char* id) const {
    const Table* table = find<Table>(id);
    if (table == nullptr) {
      throw Error(SMG_E_UNSUPPORTED,
                  std::string("this gateway has no service `") + id + "`, which the plugin needs");
    }
    return table;
  }

  // Runs `body` for a caller that cannot be told of a failure: what it throws becomes a log line.
  template <class Body>
  void shield(Body&& body) const noexcept {
    char room[256];
    smg_error error{room, sizeof room, 0};
    const smg_status status = guard(&error, [&] {
      body();
      return SMG_OK;
    });
    if (status == SMG_OK) return;
    if (const auto* log = find<smg_log_service>(SMG_SERVICE_LOG); log != nullptr) {
      log->write(raw_, SMG_LOG_ERROR, smg_view{error.text, error.size});
    }
  }

 private:
  const smg_host* raw_;
};

}  // namespace smg
