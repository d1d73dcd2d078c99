// my_plugin: asks a worker for GET /load, which answers the number of its waiting requests as text.
// Put your engine's route and its format into Source. smg/load.h lists what a report may hold.
#include <charconv>
#include <memory>
#include <string>

#include "smg/cpp/fleet.hpp"
#include "smg/cpp/monitor.hpp"
#include "smg/cpp/options.hpp"
#include "smg/transport.h"

namespace {

constexpr smg_option kOptions[] = {
    smg::string_option("path", {.initial = "\"/load\"", .help = "where a worker tells its load"}),
};

// One worker. All of it on the control thread, which must not be blocked: call() returns at once.
class Source {
 public:
  Source(const smg::Fleet& fleet, std::string_view path, uint64_t worker)
      : fleet_(fleet), path_(path), worker_(worker) {}
  ~Source() {
    if (call_ != 0) fleet_.cancel(call_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void poll(uint64_t ticket, uint64_t timeout_ns, smg_poll_done done) {
    ticket_ = ticket;
    done_ = done;
    request_ = {};
    request_.struct_size = sizeof request_;
    request_.method = smg::view("GET");
    request_.path = smg::view(path_);
    request_.timeout_ns = timeout_ns;
    call_ = fleet_.call(
        worker_, request_,
        [](void* self, const smg_call_result* result) {
          static_cast<Source*>(self)->answered(*result);
        },
        this);
  }

 private:
  void answered(const smg_call_result& result) {
    call_ = 0;
    if (result.status == 0) {
      const bool late = result.end == SMG_END_TIMEOUT;
      return fail(late ? SMG_NO_REPORT_TIMEOUT : SMG_NO_REPORT_CONNECTION,
                  smg::text(result.detail));
    }
    if (result.status == 404) return fail(SMG_NO_REPORT_UNSUPPORTED, "no such route");
    if (result.status != 200) {
      return fail(SMG_NO_REPORT_ERROR, "answered " + std::to_string(result.status));
    }
    smg_rank_load rank{};
    rank.struct_size = sizeof rank;
    const std::string_view body = smg::text(result.body);
    const auto [end, code] =
        std::from_chars(body.data(), body.data() + body.size(), rank.waiting_requests);
    if (code != std::errc{} || rank.waiting_requests < 0) {
      return fail(SMG_NO_REPORT_MALFORMED, "answered no number of requests");
    }
    smg_load_report report{};
    report.struct_size = sizeof report;
    report.rank_count = 1;
    report.ranks = &rank;
    report.rank_stride = sizeof rank;
    done_(ticket_, &report, 0, {});
  }

  void fail(uint32_t cause, std::string_view why) {
    const std::string detail = "GET " + path_ + ": " + std::string(why);
    done_(ticket_, nullptr, cause, smg::view(detail));
  }

  const smg::Fleet& fleet_;
  const std::string path_;
  const uint64_t worker_;
  uint64_t ticket_ = 0;
  smg_poll_done done_ = nullptr;
  uint64_t call_ = 0;
  smg_call request_{};
};

class Monitor {
 public:
  explicit Monitor(smg::Host host) : fleet_(host), path_(smg::Options(host).get_string("path")) {}

  // 0 to 100. The best source is asked first, the next one if that has nothing to say: the shipped
  // http_loads says 100 for every HTTP worker.
  uint32_t match(const smg_worker& worker) {
    const std::string_view scheme = smg::text(worker.scheme);
    return scheme == "http" || scheme == "https" ? 60 : 0;
  }
  std::unique_ptr<Source> attach(const smg_worker& worker) {
    return std::make_unique<Source>(fleet_, path_, worker.ref);
  }

 private:
  smg::Fleet fleet_;
  std::string path_;
};

}  // namespace

SMG_EXPORT_PLUGINS(smg::monitor<Monitor>({.name = "my_plugin",
                                          .version = "1.0",
                                          .vendor = "me",
                                          .summary = "the number that GET /load answers",
                                          .options = kOptions}));
