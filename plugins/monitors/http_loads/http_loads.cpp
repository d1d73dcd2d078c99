// http_loads: asks engines for their load document, `/loads` of another gateway or `/v1/loads` of
// an engine, and remembers which of the two a worker has.
#include <memory>

#include "loads_document.hpp"
#include "smg/cpp/fleet.hpp"
#include "smg/cpp/monitor.hpp"
#include "smg/transport.h"

namespace smg::http_loads {
namespace {

constexpr std::string_view kRoutes[] = {
    "/loads?include=core,disagg,queues,memory",
    "/v1/loads?include=core,disagg,queues,memory",
};
constexpr std::size_t kRouteCount = std::size(kRoutes);

// One worker. A poll walks the routes that may exist, from the one that answered last.
class Source {
 public:
  Source(const Fleet& fleet, LoadsDocument& document, uint64_t worker)
      : fleet_(fleet), document_(document), worker_(worker) {}
  ~Source() {
    if (call_ != 0) fleet_.cancel(call_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void poll(uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) {
    ticket_ = ticket;
    timeout_ = timeout_ns;
    done_ = done;
    cause_ = SMG_NO_REPORT_UNSUPPORTED;
    detail_ = "the worker has neither /loads nor /v1/loads";
    ask(remembered_ < kRouteCount ? remembered_ : 0);
  }

 private:
  void ask(std::size_t route) {
    while (route < kRouteCount && absent_[route]) ++route;
    if (route >= kRouteCount) return fail();
    route_ = route;
    request_ = {};
    request_.struct_size = sizeof request_;
    request_.method = view("GET");
    request_.path = view(kRoutes[route]);
    request_.timeout_ns = timeout_;
    call_ = fleet_.call(
        worker_, request_,
        [](void* self, const smg_call_result* result) {
          static_cast<Source*>(self)->answered(*result);
        },
        this);
  }

  void answered(const smg_call_result& result) {
    call_ = 0;
    const std::string_view path = kRoutes[route_].substr(0, kRoutes[route_].find('?'));
    if (result.status == 0) {
      // A worker that does not answer one route is not asked for the other in the same breath.
      cause_ = result.end == SMG_END_TIMEOUT ? SMG_NO_REPORT_TIMEOUT : SMG_NO_REPORT_CONNECTION;
      detail_ = "GET " + std::string(path) + ": " + std::string(text(result.detail));
      return fail();
    }
    if (result.status == 404 || result.status == 405 || result.status == 501) return no_route();
    if (result.status < 200 || result.status > 299) {
      cause_ = SMG_NO_REPORT_ERROR;
      detail_ = "GET " + std::string(path) + " answered " + std::to_string(result.status);
      return fail();
    }
    if (!document_.read(text(result.body))) {
      cause_ = SMG_NO_REPORT_MALFORMED;
      detail_ = "GET " + std::string(path) + " did not answer with a load document";
      return no_route();
    }
    remembered_ = route_;
    if (document_.report().rank_count == 0) {
      cause_ = SMG_NO_REPORT_EMPTY;
      detail_ = "GET " + std::string(path) + " answered without any load";
      return fail();
    }
    done_(ticket_, &document_.report(), 0, {});
  }

  void no_route() {
    if (remembered_ == route_) {
      // It was there before: look for both again at the next poll.
      remembered_ = kRouteCount;
      absent_[0] = absent_[1] = false;
      return fail();
    }
    absent_[route_] = true;
    ask(route_ + 1);
  }

  void fail() { done_(ticket_, nullptr, cause_, view(detail_)); }

  const Fleet& fleet_;
  LoadsDocument& document_;
  const uint64_t worker_;
  uint64_t ticket_ = 0;
  uint64_t timeout_ = 0;
  smg_poll_done done_ = nullptr;
  uint64_t call_ = 0;
  smg_call request_{};
  std::size_t route_ = 0;
  std::size_t remembered_ = kRouteCount;
  bool absent_[kRouteCount] = {};
  uint32_t cause_ = 0;
  std::string detail_;
};

class HttpLoads {
 public:
  explicit HttpLoads(Host host) : fleet_(host) {}
  uint32_t match(const smg_worker& worker) {
    const std::string_view scheme = text(worker.scheme);
    return scheme == "http" || scheme == "https" ? 100 : 0;
  }
  std::unique_ptr<Source> attach(const smg_worker& worker) {
    return std::make_unique<Source>(fleet_, document_, worker.ref);
  }

 private:
  Fleet fleet_;
  LoadsDocument document_;  // answers come one at a time
};

}  // namespace
}  // namespace smg::http_loads

SMG_EXPORT_PLUGINS(smg::monitor<smg::http_loads::HttpLoads>(
    {.name = "http_loads",
     .version = "1.0",
     .vendor = "smg",
     .summary = "load documents of /loads and /v1/loads"}));
