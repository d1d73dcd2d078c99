#include "host/check/local_worker.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "host/base/views.hpp"

namespace smg::check {
namespace {

std::string refusal(const smg_error& error, const char* function) {
  const std::string text(error.text, std::min(error.size, error.capacity));
  return text.empty() ? std::string(function) + "() failed and wrote no reason"
                      : std::string(function) + "() failed: " + text;
}

smg_view runtime_of(const smg_transport_api& api) {
  return api.runtime_count > 0 ? api.runtimes[0] : smg_view{};
}

}  // namespace

ClosedPort::ClosedPort() {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    number_ = ntohs(address.sin_port);
  }
}

ClosedPort::~ClosedPort() {
  if (fd_ >= 0) close(fd_);
}

LocalWorker::LocalWorker(const smg_transport_api& api, std::uint16_t port)
    : scheme_(text(api.schemes[0])), host_("127.0.0.1") {
  url_ = scheme_ + "://127.0.0.1:" + std::to_string(port);
  view_.port = port;
  fill(runtime_of(api));
}

LocalWorker::LocalWorker(const smg_transport_api& api, const WorkerUrl& url)
    : scheme_(url.scheme), host_(url.host), path_(url.base_path), url_(url.text) {
  view_.port = url.port;
  fill(runtime_of(api));
}

LocalWorker::LocalWorker(std::string_view scheme, std::string_view runtime)
    : scheme_(scheme), host_("127.0.0.1"), url_(scheme_ + "://127.0.0.1:8000") {
  view_.port = 8000;
  fill(smg::view(runtime));
}

void LocalWorker::fill(smg_view runtime) {
  live_.state = SMG_STATUS_READY;
  view_.struct_size = sizeof view_;
  view_.ref = 1;
  view_.dp_rank = -1;
  view_.dp_size = 1;
  view_.priority = 50;
  view_.cost = 1.0;
  view_.id = view_.url = view_.base_url = smg::view(url_);
  view_.scheme = smg::view(scheme_);
  view_.host = smg::view(host_);
  view_.base_path = smg::view(path_);
  view_.runtime = runtime;
  view_.live = &live_;
}

LocalRequest::LocalRequest(std::string path, std::string body)
    : path_(std::move(path)), body_(std::move(body)) {
  piece_ = smg::view(body_);
  header_ = {smg::view("content-type"), smg::view("application/json")};
  view_.struct_size = sizeof view_;
  view_.endpoint = SMG_ENDPOINT_CHAT;
  view_.header_count = 1;
  view_.method = smg::view("POST");
  view_.path = smg::view(path_);
  view_.headers = &header_;
  view_.body = &piece_;
  view_.body_count = 1;
  view_.body_size = body_.size();
  view_.request_id = smg::view("check");
}

void LocalRequest::spoil() {
  std::memset(static_cast<void*>(&view_), 0xfe, sizeof view_);
  body_.assign(body_.size(), '\xfe');
}

void* open_endpoint(const PluginInstance& instance, const LocalWorker& worker,
                    std::string& problem) {
  std::array<char, 512> room{};
  smg_error error{room.data(), room.size(), 0};
  void* endpoint = nullptr;
  if (instance.transport().open(instance.self(), &worker.view(), &endpoint, &error) != SMG_OK) {
    problem = refusal(error, "open");
    return nullptr;
  }
  if (endpoint == nullptr) problem = "open() answered SMG_OK and set no endpoint";
  return endpoint;
}

void close_endpoint(Rig& rig, const PluginInstance& instance, void* endpoint) {
  for (std::uint32_t i = 0; i < rig.loops().count(); ++i) {
    rig.on_loop(i, [&] { instance.transport().quiesce(endpoint); });
  }
  rig.settle();
  rig.on_control([&] { instance.transport().close(endpoint); });
}

bool attach(const PluginInstance& instance, const smg_worker& worker, void*& source,
            std::string& problem) {
  std::array<char, 512> room{};
  smg_error error{room.data(), room.size(), 0};
  if (instance.monitor().attach(instance.self(), &worker, &source, &error) == SMG_OK) return true;
  problem = refusal(error, "attach");
  return false;
}

std::string choice_problem(smg_status status, const smg_pool& pool, std::uint32_t index) {
  if (status == SMG_NO_CHOICE) return {};
  if (status != SMG_OK) {
    return "select() answered the status " + std::to_string(status) +
           "; SMG_OK and SMG_NO_CHOICE are the only ones that are no fault";
  }
  if (index >= pool.count) {
    return "select() chose number " + std::to_string(index) + " of a pool of " +
           std::to_string(pool.count);
  }
  if (smg_pool_eligible(&pool, index) == 0) {
    return "select() chose a worker that may not be chosen (state word " +
           std::to_string(smg_worker_state(pool.live[index])) + "); ask smg_pool_eligible() first";
  }
  return {};
}

}  // namespace smg::check
