#include "host/http/listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace smg {
namespace {

// Whether nobody else listens there. Sockets that share a port, as those of the loops do, would
// take in those of another gateway as well.
bool is_free(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const bool free = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                    bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, 1) == 0;
  const int problem = errno;
  if (fd >= 0) close(fd);
  errno = problem;
  return free;
}

// A bound, listening socket, or -1 and a sentence. `alone`: nobody else may listen there.
int bind_socket(const std::string& host, std::uint16_t& port, bool alone, std::string& error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (const int code = getaddrinfo(host.c_str(), service.c_str(), &hints, &found); code != 0) {
    error = "[server] host = \"" + host + "\" is not an address: " + gai_strerror(code);
    return -1;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> guard(found, freeaddrinfo);
  const bool taken = alone && port != 0 && !is_free(*found);
  const int fd =
      taken ? -1 : socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
      bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 4096) != 0) {
    error = "cannot listen on " + host + " port " + service + ": " + std::strerror(errno) +
            " (choose another with --port, or end what uses it)";
    if (fd >= 0) close(fd);
    return -1;
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  return fd;
}

// Descriptors that are not for clients and their workers: loops, listeners, plugins, logs, polls.
constexpr std::uint64_t kOwnDescriptors = 64;

// Every client that is served may need a worker, so two descriptors; some more clients are told
// that there is no room.
std::uint32_t connections_that_fit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1'000'000;
  const std::uint64_t all = limit.rlim_cur;
  const std::uint64_t fit = all > kOwnDescriptors ? (all - kOwnDescriptors) * 7 / 16 : 1;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, 1'000'000));
}

}  // namespace

Listener::Listener(const Parts& parts, const Config& config)
    : parts_(parts),
      loops_(parts.loops),
      config_(config),
      shared_{.loops = parts.loops,
              .bus = parts.bus,
              .admin = parts.admin,
              .control_plane = parts.control_plane,
              .admission = parts.admission,
              .tls = parts.tls,
              .access_log = parts.access_log,
              .most_connections = connections_that_fit()},
      per_loop_(loops_.data_count()) {}

Listener::~Listener() {
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] { per_loop_[i].listener.reset(); });
    // Connections are deleted at the end of the turn that closed them; only then may their state
    // go.
    loops_.run_on(i, [&] { per_loop_[i].routing.reset(); });
  }
}

std::string Listener::open() {
  port_ = config_.server.port;
  std::vector<int> sockets;
  std::string error;
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    const bool alone = i == 0 && !config_.server.reuse_port;
    const int fd = bind_socket(config_.server.host, port_, alone, error);
    if (fd < 0) {
      for (const int open : sockets) close(open);
      return error;
    }
    sockets.push_back(fd);
  }
  const auto config = std::make_shared<const Config>(config_);
  const auto keys = std::make_shared<const ServingKeys>(config_.auth, parts_.families);
  shared_.handing_over = config_.server.reuse_port;
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] {
      PerLoop& mine = per_loop_[i];
      mine.routing = std::make_unique<LoopState>(loops_.at(i), parts_.registry, parts_.families,
                                                 config, parts_.sticky, shared_.streams);
      mine.listener = std::make_unique<ListenerLoop>(loops_.at(i), *mine.routing, shared_, keys);
      mine.listener->listen(sockets[i]);
    });
  }
  return {};
}

void Listener::announce_draining() {
  shared_.draining.store(true);
  if (!shared_.handing_over) return;
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] { per_loop_[i].listener->stop_accepting(); });
  }
}

void Listener::close_idle() {
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] {
      per_loop_[i].listener->stop_accepting();
      per_loop_[i].listener->drain();
    });
  }
}

void Listener::refresh_fleet() {
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    PerLoop& mine = per_loop_[i];
    if (mine.refresh_due.exchange(true)) continue;
    mine.run = [](smg_task* task) {
      PerLoop& due = *static_cast<PerLoop*>(task);
      due.refresh_due = false;
      if (due.routing != nullptr) due.routing->refresh();
    };
    loops_.at(i).post(&mine);
  }
}

// A configuration on its way to one loop and back.
struct Listener::Change : smg_task {
  struct Round {
    std::uint32_t missing;
    std::function<void()> done;
  };
  PerLoop* target;
  Loop* control;
  std::shared_ptr<const Config> config;
  std::shared_ptr<const ServingKeys> keys;
  std::shared_ptr<Round> round;

  static void arrive(smg_task* task) {
    auto* const self = static_cast<Change*>(task);
    if (self->target->listener != nullptr) {
      self->target->listener->take(std::move(self->config), std::move(self->keys));
    }
    self->run = come_back;
    self->control->post(self);
  }
  static void come_back(smg_task* task) {
    const std::unique_ptr<Change> self(static_cast<Change*>(task));
    if (--self->round->missing == 0) self->round->done();
  }
};

void Listener::apply(const Config& config, std::function<void()> done) {
  const auto shared = std::make_shared<const Config>(config);
  const auto keys = std::make_shared<const ServingKeys>(config.auth, parts_.families);
  const auto round = std::make_shared<Change::Round>();
  round->missing = loops_.data_count();
  round->done = std::move(done);
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    auto change = std::make_unique<Change>();
    change->run = Change::arrive;
    change->target = &per_loop_[i];
    change->control = &loops_.control();
    change->config = shared;
    change->keys = keys;
    change->round = round;
    loops_.at(i).post(change.release());
  }
}

}  // namespace smg
