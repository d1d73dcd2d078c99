// A worker on this machine for transports and monitors under check, and the calls that belong to
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/check/rig.hpp"
#include "host/config/worker_url.hpp"
#include "smg/policy.h"

namespace smg::check {

// A port of 127.0.0.1 that nobody listens on, and nobody else gets as long as this lives.
class ClosedPort {
 public:
  ClosedPort();
  ~ClosedPort();
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  std::uint16_t number() const { return number_; }

 private:
  int fd_ = -1;
  std::uint16_t number_ = 0;
};

// Runtimes that sources of loads may be made for.
inline constexpr std::string_view kRuntimes[] = {"",           "vllm",   "sglang",
                                                 "tokenspeed", "trtllm", "mlx"};

// A worker at 127.0.0.1:PORT of the transport's first scheme and runtime, or at a URL.
class LocalWorker {
 public:
  LocalWorker(const smg_transport_api& api, std::uint16_t port);
  LocalWorker(const smg_transport_api& api, const WorkerUrl& url);
  // One for monitors: at a URL of that scheme, of that runtime.
  LocalWorker(std::string_view scheme, std::string_view runtime);
  LocalWorker(const LocalWorker&) = delete;
  LocalWorker& operator=(const LocalWorker&) = delete;

  const smg_worker& view() const { return view_; }

 private:
  void fill(smg_view runtime);

  std::string scheme_;
  std::string host_;
  std::string path_;
  std::string url_;
  smg_worker_live live_{};
  smg_worker view_{};
};

class LocalRequest {
 public:
  LocalRequest(std::string path, std::string body);
  LocalRequest(const LocalRequest&) = delete;
  LocalRequest& operator=(const LocalRequest&) = delete;
  smg_request& view() { return view_; }
  // What a transport must not look at any more is unreadable from now on.
  void spoil();

 private:
  std::string path_;
  std::string body_;
  smg_view piece_{};
  smg_header header_{};
  smg_request view_{};
};

// [control] nullptr, and a sentence in `problem`, if the transport refuses.
void* open_endpoint(const PluginInstance& instance, const LocalWorker& worker,
                    std::string& problem);
// Off the loops: quiesces on every loop, then closes.
void close_endpoint(Rig& rig, const PluginInstance& instance, void* endpoint);

// [control] False, and a sentence in `problem`, if the monitor refuses.
bool attach(const PluginInstance& instance, const smg_worker& worker, void*& source,
            std::string& problem);

// What is wrong with the answer of select(); empty: nothing.
std::string choice_problem(smg_status status, const smg_pool& pool, std::uint32_t index);

}  // namespace smg::check
