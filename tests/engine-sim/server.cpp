#include "server.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

namespace smg::sim {
namespace {

volatile std::sig_atomic_t g_stop = 0;

std::uint64_t clock_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

// The value of a header in a head that ends with a blank line; names are compared without regard to
// case.
std::string_view header(std::string_view head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    const std::size_t line = at + 2;
    at = head.find("\r\n", line);
    const std::string_view text = head.substr(line, at - line);
    if (text.size() > name.size() && text[name.size()] == ':' &&
        strncasecmp(text.data(), name.data(), name.size()) == 0) {
      std::string_view value = text.substr(name.size() + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      return value;
    }
  }
  return {};
}

}  // namespace

struct Server::Connection {
  int fd = -1;
  int engine = -1;  // -1: control
  std::string in;
  std::string out;
  std::uint64_t request = 0;  // being answered
  bool close_after = false;
  bool bytewise = false;
};

struct Server::Request {
  std::uint64_t id = 0;
  int engine = 0;
  Connection* connection = nullptr;
  Wish wish;
  Progress progress;
  Fault fault;
  std::string body;
  std::uint64_t next_at = 0;
  bool running = false;
};

Server::Server(std::string host) : host_(std::move(host)) {}

Server::~Server() {
  for (auto& [fd, connection] : connections_) close(fd);
  for (auto& engine : engines_) {
    if (engine->listener >= 0) close(engine->listener);
  }
  if (control_listener_ >= 0) close(control_listener_);
  if (epoll_ >= 0) close(epoll_);
}

int Server::listen_on(std::uint16_t port, std::uint16_t& bound, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host_.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    error = "--host " + host_ + " is not an address";
    return -1;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool fine = bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 4096) == 0;
  freeaddrinfo(found);
  if (!fine) {
    error =
        "cannot listen on " + host_ + " port " + std::to_string(port) + ": " + std::strerror(errno);
    close(fd);
    return -1;
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  bound = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                              : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  if (epoll_ < 0) epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return fd;
}

std::string Server::add_engine(std::unique_ptr<Engine> engine, std::uint16_t port) {
  std::string error;
  engine->listener = listen_on(port, engine->port, error);
  if (engine->listener >= 0) engines_.push_back(std::move(engine));
  return error;
}

std::string Server::open_control(std::uint16_t port, std::uint16_t& bound) {
  std::string error;
  control_listener_ = listen_on(port, bound, error);
  return error;
}

void Server::stop() {
  g_stop = 1;
}

void Server::run() {
  started_ = now_ = clock_us();
  std::array<epoll_event, 512> events;
  while (g_stop == 0) {
    int timeout = 200;
    if (!due_.empty()) {
      const std::uint64_t at = due_.top().at;
      now_ = clock_us();
      timeout =
          at <= now_ ? 0 : static_cast<int>(std::min<std::uint64_t>((at - now_ + 999) / 1000, 200));
    }
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    now_ = clock_us();
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (const auto found = connections_.find(fd); found != connections_.end()) {
        on_ready(*found->second, events[static_cast<std::size_t>(i)].events);
        continue;
      }
      if (fd == control_listener_) accept_all(fd, -1);
      for (std::size_t e = 0; e < engines_.size(); ++e) {
        if (engines_[e]->listener == fd) accept_all(fd, static_cast<int>(e));
      }
    }
    run_due();
    while (!script_.empty() && now_ - started_ >= script_.front().at) {
      apply(script_.front().engine, script_.front().fault);
      script_.erase(script_.begin());
    }
    dead_.clear();
  }
}

void Server::accept_all(int listener, int engine) {
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>();
    connection->fd = fd;
    connection->engine = engine;
    if (engine >= 0) ++engines_[static_cast<std::size_t>(engine)]->connections;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    connections_[fd] = std::move(connection);
  }
}

void Server::on_ready(Connection& connection, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush(connection);
  if (connection.fd < 0) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t count = recv(connection.fd, buffer.data(), buffer.size(), 0);
      if (count > 0) {
        connection.in.append(buffer.data(), static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < buffer.size() && (events & EPOLLRDHUP) == 0) break;
        continue;
      }
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
      close_connection(connection, false);
      return;
    }
    parse(connection);
  }
}

void Server::parse(Connection& connection) {
  while (connection.fd >= 0 && connection.request == 0 && !connection.in.empty()) {
    const std::size_t end = connection.in.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const std::string_view head(connection.in.data(), end + 2);
    std::size_t length = 0;
    const std::string_view value = header(head, "content-length");
    std::from_chars(value.data(), value.data() + value.size(), length);
    if (connection.in.size() < end + 4 + length) return;
    const std::size_t first = head.find(' ');
    const std::size_t second = head.find(' ', first + 1);
    if (second == std::string_view::npos) return close_connection(connection, false);
    const std::string method(head.substr(0, first));
    const std::string target(head.substr(first + 1, second - first - 1));
    std::string body = connection.in.substr(end + 4, length);
    connection.in.erase(0, end + 4 + length);
    if (connection.engine < 0) {
      control(connection, method, target, body);
    } else {
      serve(connection, method, target, std::move(body));
    }
  }
}

void Server::serve(Connection& connection, const std::string& method, const std::string& target,
                   std::string body) {
  Engine& engine = *engines_[static_cast<std::size_t>(connection.engine)];
  const std::string path = target.substr(0, target.find('?'));
  constexpr std::string_view kJson = "application/json";
  if (method == "GET") {
    if (path == "/health") {
      const bool well = !engine.has_fault("unhealthy");
      return reply(connection, well ? 200 : 503, "text/plain", "");
    }
    if (path == "/v1/models") return reply(connection, 200, kJson, engine.models_json());
    if (path == "/v1/loads" && !engine.has_fault("no_loads")) {
      return reply(connection, 200, kJson, engine.loads_json("2026-01-01T00:00:00Z"));
    }
    if (path == "/metrics")
      return reply(connection, 200, "text/plain; version=0.0.4", engine.metrics_text());
    if (engine.dialect == Dialect::vllm && path == "/version")
      return reply(connection, 200, kJson, R"({"version":"0.11.0"})");
    if (engine.dialect == Dialect::sglang &&
        (path == "/server_info" || path == "/get_server_info")) {
      return reply(connection, 200, kJson,
                   R"({"model_path":")" + engine.model_name + R"(","served_model_name":")" +
                       engine.model_name +
                       R"(","tp_size":1,"dp_size":1,"version":"0.5.3","max_running_requests":)" +
                       std::to_string(engine.model.settings().max_running) + "}");
    }
    if (engine.dialect == Dialect::sglang && (path == "/model_info" || path == "/get_model_info")) {
      return reply(connection, 200, kJson,
                   R"({"model_path":")" + engine.model_name + R"(","is_generation":true})");
    }
    return reply(connection, 404, kJson, R"({"detail":"Not Found"})");
  }
  if (path == "/flush_cache") return reply(connection, 200, "text/plain", "Cache flushed.");
  struct Entry {
    std::string_view path;
    Api api;
  };
  static constexpr Entry kApis[] = {
      {"/v1/chat/completions", Api::chat}, {"/v1/completions", Api::completions},
      {"/generate", Api::generate},        {"/v1/messages", Api::messages},
      {"/v1/responses", Api::responses},   {"/v1/embeddings", Api::embeddings},
      {"/v1/classify", Api::classify},     {"/v1/rerank", Api::rerank}};
  const auto* entry = std::find_if(std::begin(kApis), std::end(kApis),
                                   [&](const Entry& e) { return e.path == path; });
  if (entry == std::end(kApis)) return reply(connection, 404, kJson, R"({"detail":"Not Found"})");
  ++engine.requests;
  engine.seen.push_back({method, target, body.size()});
  if (engine.seen.size() > 1000) engine.seen.pop_front();
  Wish wish;
  if (!read_wish(entry->api, body, wish)) {
    return reply(connection, 400, kJson,
                 R"({"error":{"message":"body is no JSON object","type":"BadRequestError"}})");
  }
  begin(connection, std::move(wish), std::move(body));
}

void Server::begin(Connection& connection, Wish wish, std::string body) {
  Engine& engine = *engines_[static_cast<std::size_t>(connection.engine)];
  constexpr std::string_view kJson = "application/json";
  Fault fault = engine.next_fault();
  if (fault.kind == "status_500") wish.status = 500;
  if (fault.kind == "status_503") wish.status = 503;
  if (fault.kind == "early_401") wish.status = 401;
  if (wish.status != 200) {
    return reply(
        connection, static_cast<int>(wish.status), kJson,
        R"({"error":{"message":"simulated failure","type":"simulated","param":null,"code":)" +
            std::to_string(wish.status) + "}}");
  }
  if (fault.kind == "reset_before_head") return close_connection(connection, true);
  if (fault.kind == "bad_status_line") return send(connection, "HTTP/1.1 banana\r\n\r\n");
  if (fault.kind == "both_lengths") {
    return send(connection,
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}");
  }
  if (fault.kind == "wrong_length") {
    connection.close_after = true;
    send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}");
    return close_connection(connection, false);
  }
  connection.bytewise = fault.kind == "bytewise";
  auto request = std::make_unique<Request>();
  request->id = next_request_++;
  request->engine = connection.engine;
  request->connection = &connection;
  request->wish = std::move(wish);
  request->fault = std::move(fault);
  request->body = request->wish.echo ? std::move(body) : std::string();
  request->progress.id = "sim-" + std::to_string(request->id);
  request->progress.model = engine.model_name;
  connection.request = request->id;
  Request& placed = *request;
  requests_[placed.id] = std::move(request);
  if (placed.fault.kind == "hang") return;
  if (engine.fast) return start_answer(placed, now_, 0);
  engine.model.arrive(placed.id, placed.wish.prompt, placed.wish.prompt_tokens);
  admit(placed.engine);
}

void Server::admit(int index) {
  Engine& engine = *engines_[static_cast<std::size_t>(index)];
  while (const auto admission = engine.model.admit(now_)) {
    const auto found = requests_.find(admission->request);
    if (found == requests_.end()) continue;
    start_answer(*found->second, admission->first_token_at, admission->cached_tokens);
  }
}

void Server::start_answer(Request& request, std::uint64_t first_token_at, std::uint32_t cached) {
  request.running = true;
  request.progress.cached_tokens = cached;
  const Engine& engine = *engines_[static_cast<std::size_t>(request.engine)];
  if (engine.fast && !request.wish.stream) return finish(request);
  if (request.wish.interval_ms >= 0) {
    first_token_at = now_ + static_cast<std::uint64_t>(request.wish.interval_ms * 1000);
  }
  request.next_at = first_token_at;
  if (request.wish.stream) {
    send(*request.connection,
         "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nserver: sim\r\n"
         "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
    scratch_.clear();
    append_stream_start(scratch_, request.wish, request.progress);
    // One call may have ended the connection, and the request with it.
    const std::uint64_t id = request.id;
    if (!scratch_.empty()) send_chunk(*request.connection, scratch_);
    if (requests_.count(id) == 0) return;
  }
  schedule(request.next_at, request.id);
}

void Server::schedule(std::uint64_t at, std::uint64_t request) {
  due_.push({at, request});
}

void Server::run_due() {
  while (!due_.empty() && due_.top().at <= now_) {
    const std::uint64_t id = due_.top().request;
    due_.pop();
    if (const auto found = requests_.find(id); found != requests_.end()) token_due(*found->second);
  }
}

void Server::token_due(Request& request) {
  Engine& engine = *engines_[static_cast<std::size_t>(request.engine)];
  if (request.fault.kind == "reset_mid" || request.fault.kind == "close_mid") {
    if (request.progress.made >= static_cast<std::uint64_t>(request.fault.after)) {
      return close_connection(*request.connection, request.fault.kind == "reset_mid");
    }
  }
  const std::uint64_t id = request.id;
  engine.model.token(id);
  if (request.wish.stream) {
    scratch_.clear();
    append_token(scratch_, request.wish, request.progress);
    ++request.progress.made;
    if (request.progress.made < request.wish.tokens && !scratch_.empty()) {
      send_chunk(*request.connection, scratch_);
      if (requests_.count(id) == 0) return;
    }
  } else {
    ++request.progress.made;
  }
  if (request.progress.made >= request.wish.tokens) return finish(request);
  double step = static_cast<double>(engine.model.step());
  if (request.wish.interval_ms >= 0) step = request.wish.interval_ms * 1000;
  if (request.fault.kind == "slow") step *= 20;
  request.next_at += static_cast<std::uint64_t>(step);
  schedule(request.next_at, id);
}

void Server::finish(Request& request) {
  Connection& connection = *request.connection;
  Engine& engine = *engines_[static_cast<std::size_t>(request.engine)];
  const std::uint64_t id = request.id;
  if (engine.fast && !request.wish.stream) request.progress.made = request.wish.tokens;
  ++engine.completed;
  connection.request = 0;
  const auto holder = std::move(requests_[id]);
  requests_.erase(id);
  engine.model.leave(id);
  if (request.wish.stream) {
    // The last token and what ends the stream go out together, as engines do.
    append_stream_end(scratch_, request.wish, request.progress);
    std::array<char, 24> size;
    const auto [end, code] =
        std::to_chars(size.data(), size.data() + size.size(), scratch_.size(), 16);
    std::string wire(size.data(), end);
    wire.append("\r\n").append(scratch_).append("\r\n0\r\n\r\n");
    send(connection, wire);
  } else {
    const bool binary = request.wish.body_bytes > 0;
    reply(connection, 200, binary ? "application/octet-stream" : "application/json",
          whole_answer(request.wish, request.progress, request.body));
  }
  admit(request.engine);
  if (connection.fd >= 0) parse(connection);
}

void Server::reply(Connection& connection, int status, std::string_view type,
                   std::string_view body) {
  std::string wire = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason(status)) +
                     "\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nserver: sim\r\ncontent-type: " +
                     std::string(type) + "\r\ncontent-length: " + std::to_string(body.size()) +
                     "\r\n\r\n";
  wire += body;
  send(connection, wire);
}

void Server::send_chunk(Connection& connection, const std::string& data) {
  std::array<char, 24> size;
  const auto [end, code] = std::to_chars(size.data(), size.data() + size.size(), data.size(), 16);
  std::string wire;
  wire.reserve(data.size() + 16);
  wire.append(size.data(), end).append("\r\n").append(data).append("\r\n");
  send(connection, wire);
}

void Server::send(Connection& connection, std::string_view data) {
  if (connection.fd < 0) return;
  if (!connection.out.empty()) {
    connection.out += data;
    return;
  }
  std::size_t sent = 0;
  while (sent < data.size()) {
    const std::size_t piece = connection.bytewise ? 1 : data.size() - sent;
    const ssize_t count = ::send(connection.fd, data.data() + sent, piece, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return close_connection(connection, false);
      break;
    }
    sent += static_cast<std::size_t>(count);
  }
  connection.out.append(data.substr(sent));
}

void Server::flush(Connection& connection) {
  while (!connection.out.empty() && connection.fd >= 0) {
    const ssize_t count =
        ::send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) close_connection(connection, false);
      return;
    }
    connection.out.erase(0, static_cast<std::size_t>(count));
  }
}

void Server::close_connection(Connection& connection, bool reset) {
  if (connection.fd < 0) return;
  if (reset) {
    const linger hard{1, 0};
    setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  if (const auto found = requests_.find(connection.request); found != requests_.end()) {
    const int index = found->second->engine;
    Engine& engine = *engines_[static_cast<std::size_t>(index)];
    ++engine.aborted;
    const std::uint64_t id = found->first;
    // What calls this may still look at the request: it goes at the end of the turn, with its
    // connection.
    found->second->connection = nullptr;
    requests_.erase(found);
    engine.model.leave(id);
    admit(index);
  }
  if (connection.engine >= 0) --engines_[static_cast<std::size_t>(connection.engine)]->connections;
  const auto place = connections_.find(connection.fd);
  close(connection.fd);
  connection.fd = -1;
  dead_.push_back(std::move(place->second));
  connections_.erase(place);
}

}  // namespace smg::sim
