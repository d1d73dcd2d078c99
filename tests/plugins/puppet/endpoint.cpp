#include "endpoint.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>

namespace puppet {
namespace {

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw smg::Error(SMG_E_INVALID, "the path " + path + " is too long for a socket");
  }
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  unlink(path.c_str());
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (fd >= 0) close(fd);
    throw smg::Error(SMG_E_INVALID, "no socket can be made at " + path);
  }
  return fd;
}

}  // namespace

Endpoint::Endpoint(smg::Host host, const smg_sink* sink, std::shared_ptr<Streams> streams,
                   const smg_worker& worker)
    : fleet_(host), loop_(host), sink_(sink), streams_(std::move(streams)) {
  engine_.url = smg::text(worker.url);
  engine_.worker = worker.ref;
  watch_.fd = listen_at(std::string(smg::text(worker.base_path)));
  try {
    loop_.watch(watch_);
  } catch (...) {
    close(watch_.fd);
    throw;
  }
}

Endpoint::~Endpoint() {
  close(watch_.fd);
}

void Endpoint::quiesce() {
  if (loop_.current() + 1 == loop_.count()) loop_.unwatch(watch_);
}

void Endpoint::ready(uint32_t) noexcept {
  std::array<char, 512> order;
  sockaddr_un from{};
  for (;;) {
    socklen_t size = sizeof from;
    const ssize_t got = recvfrom(watch_.fd, order.data(), order.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return;
    const std::string reply =
        obey({order.data(), static_cast<std::size_t>(got)}, engine_, fleet_, *streams_);
    sendto(watch_.fd, reply.data(), reply.size(), 0, reinterpret_cast<const sockaddr*>(&from),
           size);
  }
}

void Endpoint::probe(const smg_probe&, smg_probe_done done, void* context) {
  static constexpr smg_view kModel = smg::view("m");
  smg_probe_result result{};
  result.struct_size = sizeof result;
  result.healthy = engine_.unwell ? 0 : 1;
  if (engine_.unwell) result.detail = smg::view("told to be unwell");
  result.models = &kModel;
  result.model_count = 1;
  done(context, &result);
}

void Endpoint::start(const smg_request& request, uint64_t ticket, uint64_t* stream) {
  if (engine_.broken) {
    *stream = streams_->number();
    const smg_outcome outcome{sizeof outcome, SMG_END_CONNECT_FAILED, SMG_PHASE_CONNECT, 0,
                              smg::view("told to be broken")};
    sink_->end(ticket, &outcome);
  } else if ((request.flags & SMG_REQUEST_STREAM) != 0) {
    streams_->begin(engine_.url, engine_.worker, ticket, stream);
  } else {
    answer(ticket, stream);
  }
}

void Endpoint::answer(uint64_t ticket, uint64_t* stream) {
  static constexpr std::string_view kBody = "{}";
  *stream = streams_->number();
  fleet_.progress(engine_.worker, 0);
  const smg_header type{smg::view("content-type"), smg::view("application/json")};
  smg_response_head head{};
  head.struct_size = sizeof head;
  head.status = 200;
  head.headers = &type;
  head.header_count = 1;
  head.content_length = static_cast<int64_t>(kBody.size());
  sink_->head(ticket, &head);
  sink_->data(ticket, kBody.data(), kBody.size());
  const smg_outcome outcome{sizeof outcome, SMG_END_COMPLETE, SMG_PHASE_DATA, 0, {}};
  sink_->end(ticket, &outcome);
}

}  // namespace puppet
