#include "host/http/listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

// A bound, listening socket, or -1 and a sentence. `first`: none of ours is there yet.
int bind_socket(const std::string& host, std::uint16_t& port, bool first, std::string& error) {
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
  const bool taken = first && port != 0 && !is_free(*found);
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

}  // namespace

Listener::Listener(LoopGroup& loops, Registry& registry, Families& families, Bus& bus,
                   AdminApi& admin, StickyKeys* sticky, const Config& config)
    : loops_(loops),
      registry_(registry),
      families_(families),
      sticky_(sticky),
      config_(config),
      shared_{loops, bus, admin},
      per_loop_(loops.data_count()) {}

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
    const int fd = bind_socket(config_.server.host, port_, i == 0, error);
    if (fd < 0) {
      for (const int open : sockets) close(open);
      return error;
    }
    sockets.push_back(fd);
  }
  const auto config = std::make_shared<const Config>(config_);
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] {
      PerLoop& mine = per_loop_[i];
      mine.routing =
          std::make_unique<LoopState>(loops_.at(i), registry_, families_, config, sticky_);
      mine.listener = std::make_unique<ListenerLoop>(loops_.at(i), *mine.routing, shared_);
      mine.listener->listen(sockets[i]);
    });
  }
  return {};
}

void Listener::stop_accepting() {
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    loops_.run_on(i, [&] {
      if (per_loop_[i].listener == nullptr) return;
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
  std::shared_ptr<Round> round;

  static void arrive(smg_task* task) {
    auto* const self = static_cast<Change*>(task);
    if (self->target->listener != nullptr) self->target->listener->take(std::move(self->config));
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
  const auto round = std::make_shared<Change::Round>();
  round->missing = loops_.data_count();
  round->done = std::move(done);
  for (std::uint32_t i = 0; i < loops_.data_count(); ++i) {
    auto change = std::make_unique<Change>();
    change->run = Change::arrive;
    change->target = &per_loop_[i];
    change->control = &loops_.control();
    change->config = shared;
    change->round = round;
    loops_.at(i).post(change.release());
  }
}

}  // namespace smg
