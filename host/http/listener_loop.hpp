// What the listener keeps per loop: its socket, its connections, the cork, metric handles,
// settings.
//
// Made, used and destroyed on the loop's thread.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/auth/serving_keys.hpp"
#include "host/bus/bus.hpp"
#include "host/config/config.hpp"
#include "host/fleet/registry.hpp"
#include "host/http/routes.hpp"
#include "host/loop/loop_group.hpp"
#include "host/metrics/families.hpp"
#include "host/routing/loop_state.hpp"
#include "smg/cpp/http1.hpp"
#include "smg/host.h"

namespace smg {

class AccessLog;
class AdminApi;
class Admission;
class Connection;
class ControlPlane;
class ServerTls;

// Shared by all loops of a listener.
struct ListenerShared {
  LoopGroup& loops;
  Bus& bus;
  AdminApi& admin;  // for the control loop
  ControlPlane& control_plane;
  Admission& admission;
  const ServerTls* tls;  // nullptr: plain
  AccessLog& access_log;
  std::atomic<bool> draining{false};
  std::atomic<std::uint64_t> busy{0};  // requests whose answer is not finished
  std::atomic<std::uint32_t> streams{0};
  bool handing_over = false;  // while draining, another process listens on the same address
  std::atomic<std::uint32_t> connections{0};  // those beyond the limit included
  std::uint32_t most_connections = 0;         // that the descriptors of the process allow
};

class ListenerLoop : private smg_watch {
 public:
  ListenerLoop(Loop& loop, LoopState& routing, ListenerShared& shared,
               std::shared_ptr<const ServingKeys> keys);
  ~ListenerLoop();
  ListenerLoop(const ListenerLoop&) = delete;
  ListenerLoop& operator=(const ListenerLoop&) = delete;

  // Takes over a listening socket.
  void listen(int socket);
  // Takes what has arrived, then nothing more.
  void stop_accepting();
  // Connections of clients that are served.
  std::uint32_t connection_limit() const;
  // Closes what is idle; what runs closes with its answer.
  void drain();
  void close_all();

  const Config& config() const { return routing.config(); }
  // From now on this one.
  void take(std::shared_ptr<const Config> config, std::shared_ptr<const ServingKeys> keys);

  void add(Connection* connection);
  void remove(Connection* connection);

  // The loop's one output buffer: bytes of the connection that wrote last, sent when the call-back
  // returns.
  void cork(Connection* connection, std::string_view data);
  void uncork();
  // Drops what `connection` has in the cork.
  void forget(const Connection* connection);
  bool is_corked(const Connection* connection) const {
    return corked_ == connection && cork_size_ > 0;
  }

  struct RouteSeries {
    Series requests;  // method of the route
    Series duration;
    std::array<Series, 600> responses;  // by status, no error code
  };
  RouteSeries& series(const Route& route) { return series_[route_index(route)]; }

  Loop& loop;
  LoopState& routing;
  ListenerShared& shared;
  std::shared_ptr<const ServingKeys> keys;  // as the configuration has them
  std::string head;                         // of the answer being written
  http1::RequestScratch scratch;            // of the head being read

 private:
  static constexpr std::size_t kCorkSize = 64 * 1024;
  static std::size_t route_index(const Route& route) {
    return static_cast<std::size_t>(&route - all_routes().data());
  }
  static void accept_ready(smg_watch* watch, std::uint32_t events);
  static void accept_again(smg_timer* timer);
  static void cork_return(smg_task* task);
  static void sample_ages(smg_timer* timer);
  void accept_some();
  void take_in(int client, const sockaddr_storage& peer);
  bool turn_away_with_spare();

  struct CorkTask : smg_task {
    ListenerLoop* owner;
    bool queued;
  };
  struct Timer : smg_timer {
    ListenerLoop* owner;
  };
  static constexpr std::array<std::uint32_t, 11> kAgeBounds = {
      30, 60, 180, 300, 600, 1200, 3600, 7200, 14400, 28800, 86400};  // s
  static constexpr std::uint64_t kAgeInterval = 20'000'000'000;
  std::unique_ptr<char[]> cork_;
  std::size_t cork_size_ = 0;
  Connection* corked_ = nullptr;
  CorkTask cork_task_{};
  Timer accept_timer_{};
  int spare_;  // a descriptor to give up for a client that is to hear that there are none
  Timer age_timer_{};
  std::array<Series, kAgeBounds.size() + 1> age_series_;
  std::array<double, kAgeBounds.size() + 1> ages_{};
  Connection* connections_ = nullptr;
  std::unique_ptr<RouteSeries[]> series_;
};

}  // namespace smg
