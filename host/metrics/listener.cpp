#include "host/metrics/listener.hpp"

#include <Poco/Exception.h>
#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServerConnection.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/IPAddress.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/StreamSocket.h>
#include <Poco/Net/TCPServer.h>
#include <Poco/Net/TCPServerConnectionFactory.h>
#include <Poco/ThreadPool.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "host/metrics/exposition.hpp"

namespace smg {
namespace {

using Poco::Net::HTTPRequest;
using Poco::Net::HTTPResponse;

class Handler : public Poco::Net::HTTPRequestHandler {
 public:
  explicit Handler(const Metrics& metrics) : metrics_(metrics) {}

  void handleRequest(Poco::Net::HTTPServerRequest& request,
                     Poco::Net::HTTPServerResponse& response) override {
    const std::string& uri = request.getURI();
    std::string body;
    response.setContentType("text/plain; version=0.0.4; charset=utf-8");
    if (uri.substr(0, uri.find('?')) != "/metrics") {
      response.setStatusAndReason(HTTPResponse::HTTP_NOT_FOUND);
      response.setContentType("text/plain; charset=utf-8");
      body = "not found: metrics are at /metrics\n";
    } else if (request.getMethod() != HTTPRequest::HTTP_GET &&
               request.getMethod() != HTTPRequest::HTTP_HEAD) {
      response.setStatusAndReason(HTTPResponse::HTTP_METHOD_NOT_ALLOWED);
      response.setContentType("text/plain; charset=utf-8");
      response.set("Allow", "GET, HEAD");
      body = "use GET\n";
    } else {
      body = exposition_text(metrics_);
    }
    response.sendBuffer(body.data(), body.size());
  }

 private:
  const Metrics& metrics_;
};

class HandlerFactory : public Poco::Net::HTTPRequestHandlerFactory {
 public:
  explicit HandlerFactory(const Metrics& metrics) : metrics_(metrics) {}
  Poco::Net::HTTPRequestHandler* createRequestHandler(
      const Poco::Net::HTTPServerRequest& /*request*/) override {
    return new Handler(metrics_);
  }

 private:
  const Metrics& metrics_;
};

Poco::Net::IPAddress parse_host(std::string_view host) {
  std::string_view bare = host;
  if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') {
    bare = bare.substr(1, bare.size() - 2);
  }
  Poco::Net::IPAddress address;
  if (!Poco::Net::IPAddress::tryParse(std::string(bare), address)) {
    spdlog::warn("metrics host '{}' is no IP address: listening on 0.0.0.0", host);
    return Poco::Net::IPAddress("0.0.0.0");
  }
  return address;
}

constexpr int kThreads = 16;
constexpr std::chrono::seconds kTimeout(10);  // for a whole scrape: its connection holds a thread
// For one read or write. Shorter than the 10 s that a Poco::ThreadPool waits for its threads at the
// end: one that it gave up would go on in memory that is gone.
constexpr std::chrono::seconds kPause(5);

// Cuts off connections that take too long, however busy they look.
class Watchdog {
 public:
  Watchdog() : thread_([this] { run(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void add(const void* connection, const Poco::Net::StreamSocket& socket) {
    const std::lock_guard lock(mutex_);
    auto& entry =
        watched_.emplace(connection, std::pair(Clock::now() + kTimeout, socket)).first->second;
    if (closing_) cut(entry.second);
  }
  void remove(const void* connection) {
    const std::lock_guard lock(mutex_);
    watched_.erase(connection);
  }
  // Also those that come after: one may be taken out of the queue at this very moment, and the
  // pool's threads are waited for no longer than a connection may last.
  void cut_all() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (auto& [connection, entry] : watched_) cut(entry.second);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; })) {
      for (auto& [connection, entry] : watched_) {
        if (Clock::now() >= entry.first) cut(entry.second);
      }
    }
  }
  static void cut(Poco::Net::StreamSocket& socket) {
    try {
      socket.shutdown();
    } catch (const Poco::Exception&) {
      // closed already
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  bool closing_ = false;
  std::map<const void*, std::pair<Clock::time_point, Poco::Net::StreamSocket>> watched_;
  std::thread thread_;
};

class WatchedConnection : public Poco::Net::HTTPServerConnection {
 public:
  WatchedConnection(const Poco::Net::StreamSocket& socket, Poco::Net::HTTPServerParams::Ptr params,
                    Poco::Net::HTTPRequestHandlerFactory::Ptr factory, Watchdog& watchdog)
      : HTTPServerConnection(socket, std::move(params), std::move(factory)), watchdog_(watchdog) {
    watchdog_.add(this, socket);
  }
  ~WatchedConnection() override { watchdog_.remove(this); }

 private:
  Watchdog& watchdog_;
};

class ConnectionFactory : public Poco::Net::TCPServerConnectionFactory {
 public:
  ConnectionFactory(const Metrics& metrics, Poco::Net::HTTPServerParams::Ptr params,
                    Watchdog& watchdog)
      : handlers_(new HandlerFactory(metrics)), params_(std::move(params)), watchdog_(watchdog) {}
  Poco::Net::TCPServerConnection* createConnection(const Poco::Net::StreamSocket& socket) override {
    return new WatchedConnection(socket, params_, handlers_, watchdog_);
  }

 private:
  const Poco::Net::HTTPRequestHandlerFactory::Ptr handlers_;
  const Poco::Net::HTTPServerParams::Ptr params_;
  Watchdog& watchdog_;
};

}  // namespace

struct MetricsListener::Impl {
  Impl(const Metrics& metrics, Poco::Net::ServerSocket bound)
      : socket(std::move(bound)),
        pool("smg-metrics", 1, kThreads),
        params(parameters()),
        server(new ConnectionFactory(metrics, params, watchdog), pool, socket, params) {
    server.start();
  }
  ~Impl() {
    server.stop();
    watchdog.cut_all();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static Poco::Net::HTTPServerParams::Ptr parameters() {
    Poco::Net::HTTPServerParams::Ptr result = new Poco::Net::HTTPServerParams;
    result->setMaxThreads(kThreads);
    result->setMaxQueued(16);
    result->setTimeout(Poco::Timespan(kPause.count(), 0));
    result->setKeepAlive(false);
    return result;
  }

  Poco::Net::ServerSocket socket;
  Watchdog watchdog;
  Poco::ThreadPool pool;
  Poco::Net::HTTPServerParams::Ptr params;
  Poco::Net::TCPServer server;
};

MetricsListener::MetricsListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsListener::~MetricsListener() = default;

std::unique_ptr<MetricsListener> MetricsListener::open(const Metrics& metrics,
                                                       std::string_view host, std::uint16_t port,
                                                       bool reuse_port, std::string& error) {
  const Poco::Net::SocketAddress address(parse_host(host), port);
  try {
    Poco::Net::ServerSocket socket;
    socket.bind(address, true, reuse_port);
    socket.listen(64);
    return std::unique_ptr<MetricsListener>(
        new MetricsListener(std::make_unique<Impl>(metrics, std::move(socket))));
  } catch (const Poco::Exception& exception) {
    error = "cannot listen for metrics on " + address.toString() + ": " + exception.displayText() +
            "; choose another address with [metrics] host and port";
    return nullptr;
  }
}

std::uint16_t MetricsListener::port() const {
  return impl_->socket.address().port();
}
std::string MetricsListener::address() const {
  return impl_->socket.address().toString();
}

}  // namespace smg
