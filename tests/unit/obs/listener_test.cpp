#include "host/metrics/listener.hpp"

#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocket.h>
#include <doctest/doctest.h>

#include <array>

using smg::Metrics;
using smg::MetricsListener;
using smg::MetricType;

namespace {

std::string ask(const std::string& address, const std::string& request_line) {
  Poco::Net::StreamSocket socket{Poco::Net::SocketAddress(address)};
  const std::string request = request_line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  socket.sendBytes(request.data(), static_cast<int>(request.size()));
  std::string answer;
  std::array<char, 4096> piece{};
  for (;;) {
    const int size = socket.receiveBytes(piece.data(), static_cast<int>(piece.size()));
    if (size <= 0) return answer;
    answer.append(piece.data(), static_cast<std::size_t>(size));
  }
}

bool contains(const std::string& all, const std::string& part) {
  return all.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("GET /metrics answers in the text format of Prometheus") {
  Metrics metrics({});
  metrics.family({"t_total", MetricType::kCounter, "help"}).with({}).add(3);
  std::string error;
  const auto listener = MetricsListener::open(metrics, "127.0.0.1", 0, false, error);
  REQUIRE_MESSAGE(listener != nullptr, error);
  CHECK(listener->address() == "127.0.0.1:" + std::to_string(listener->port()));
  const auto answer = ask(listener->address(), "GET /metrics");
  CHECK(contains(answer, "HTTP/1.1 200 "));
  CHECK(contains(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  CHECK(contains(answer, "\r\n\r\n# HELP t_total help\n# TYPE t_total counter\nt_total 3\n"));
  CHECK(contains(ask(listener->address(), "GET /metrics?x=1"), " 200 "));
}

TEST_CASE("nothing but GET /metrics is served") {
  Metrics metrics({});
  std::string error;
  const auto listener = MetricsListener::open(metrics, "127.0.0.1", 0, false, error);
  REQUIRE(listener != nullptr);
  CHECK(contains(ask(listener->address(), "GET /"), "HTTP/1.1 404 "));
  CHECK(contains(ask(listener->address(), "GET /metrics/x"), "HTTP/1.1 404 "));
  const auto answer = ask(listener->address(), "DELETE /metrics");
  CHECK(contains(answer, "HTTP/1.1 405 "));
  CHECK(contains(answer, "Allow: GET, HEAD"));
}

TEST_CASE("a host that is no address counts as all addresses") {
  Metrics metrics({});
  std::string error;
  const auto listener = MetricsListener::open(metrics, "no such host", 0, false, error);
  REQUIRE(listener != nullptr);
  CHECK(listener->address() == "0.0.0.0:" + std::to_string(listener->port()));
}

TEST_CASE("IPv6 literals are taken with and without brackets") {
  Metrics metrics({});
  std::string error;
  for (const char* host : {"::1", "[::1]"}) {
    const auto listener = MetricsListener::open(metrics, host, 0, false, error);
    REQUIRE_MESSAGE(listener != nullptr, error);
    CHECK(listener->address() == "[::1]:" + std::to_string(listener->port()));
    CHECK(contains(ask(listener->address(), "GET /metrics"), " 200 "));
  }
}

TEST_CASE("an address in use is an error that names it") {
  Metrics metrics({});
  std::string error;
  const auto first = MetricsListener::open(metrics, "127.0.0.1", 0, false, error);
  REQUIRE(first != nullptr);
  CHECK(MetricsListener::open(metrics, "127.0.0.1", first->port(), false, error) == nullptr);
  CHECK(contains(error, "cannot listen for metrics on " + first->address()));
  CHECK(contains(error, "already in use"));
}

TEST_CASE("many scrapes one after the other, and destruction with an open connection") {
  Metrics metrics({});
  std::string error;
  auto listener = MetricsListener::open(metrics, "127.0.0.1", 0, false, error);
  REQUIRE(listener != nullptr);
  for (int i = 0; i < 50; ++i) CHECK(contains(ask(listener->address(), "GET /metrics"), " 200 "));
  const Poco::Net::StreamSocket idle{Poco::Net::SocketAddress(listener->address())};
  listener.reset();
}
