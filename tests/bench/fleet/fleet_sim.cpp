// smg-fleet-sim: thousands of engines in one thread, told apart by the base path of their URLs.
//
// Answers the end of a path, whatever stands before it: /health, /v1/models, /v1/loads, and any
// POST with one short chat completion. As cheap as can be, so that what asks is what is measured:
// no model of an engine, no state but what is unread on a connection. `GET /counts` tells how often
// each was asked.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kModels =
    R"({"object":"list","data":[{"id":"fleet-model","object":"model","owned_by":"vllm"}]})";
constexpr std::string_view kLoads =
    R"({"timestamp":"2026-01-01T00:00:00Z","version":"1","dp_rank_count":1,"loads":[{"dp_rank":0,)"
    R"("num_running_reqs":12,"num_waiting_reqs":1,"num_waiting_uncached_tokens":900,)"
    R"("num_total_reqs":13,"num_used_tokens":40960,"max_total_num_tokens":131072,)"
    R"("token_usage":0.3125,"gen_throughput":850.5,"cache_hit_rate":0.41,"utilization":0.37,)"
    R"("max_running_requests":64}]})";
constexpr std::string_view kChat =
    R"({"id":"chat-1","object":"chat.completion","created":1,"model":"fleet-model","choices":[)"
    R"({"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})";

struct Counts {
  std::uint64_t health = 0, models = 0, loads = 0, posts = 0, connections = 0;
};

// What a listening socket or a client has left to read; by file descriptor.
struct Connection {
  bool listener = false;
  std::string in;
};

std::string answer(std::string_view status, std::string_view body) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\ncontent-type: application/json\r\ncontent-length: ");
  return text.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
}

std::string counts_document(const Counts& counts) {
  return "{\"health\":" + std::to_string(counts.health) +
         ",\"models\":" + std::to_string(counts.models) +
         ",\"loads\":" + std::to_string(counts.loads) +
         ",\"posts\":" + std::to_string(counts.posts) +
         ",\"connections\":" + std::to_string(counts.connections) + "}";
}

std::string respond(std::string_view head, Counts& counts) {
  static const std::string ok = answer("200 OK", "{}");
  static const std::string models = answer("200 OK", kModels);
  static const std::string loads = answer("200 OK", kLoads);
  static const std::string chat = answer("200 OK", kChat);
  static const std::string absent = answer("404 Not Found", "{}");
  const std::size_t from = head.find(' ') + 1;
  std::string_view path = head.substr(from, head.find(' ', from) - from);
  path = path.substr(0, path.find('?'));
  if (head.starts_with("POST")) return ++counts.posts, chat;
  if (path.ends_with("/health")) return ++counts.health, ok;
  if (path.ends_with("/v1/models")) return ++counts.models, models;
  if (path.ends_with("/v1/loads")) return ++counts.loads, loads;
  if (path == "/counts") return answer("200 OK", counts_document(counts));
  return absent;
}

std::size_t content_length(std::string_view head) {
  for (const std::string_view name : {"\r\ncontent-length: ", "\r\nContent-Length: "}) {
    const std::size_t at = head.find(name);
    std::size_t value = 0;
    if (at == std::string_view::npos) continue;
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), value);
    return value;
  }
  return 0;
}

// False: the connection is done with.
bool serve(int fd, Connection& connection, Counts& counts) {
  std::array<char, 16384> buffer;
  const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.in.append(buffer.data(), static_cast<std::size_t>(count));
  for (;;) {
    const std::string_view in = connection.in;
    const std::size_t end = in.find("\r\n\r\n");
    if (end == std::string_view::npos) return true;
    const std::size_t size = end + 4 + content_length(in.substr(0, end + 2));
    if (in.size() < size) return true;
    const std::string reply = respond(in.substr(0, end), counts);
    if (send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(reply.size())) {
      return false;
    }
    connection.in.erase(0, size);
    if (connection.in.empty()) connection.in.shrink_to_fit();
  }
}

int listen_on(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, 65535) != 0) {
    std::perror("smg-fleet-sim: listening");
    std::exit(1);
  }
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[1]) < 1 || std::atoi(argv[2]) < 1) {
    std::fprintf(stderr, "smg-fleet-sim PORT COUNT: listens on COUNT ports from PORT on\n");
    return 2;
  }
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<Connection> connections;
  const auto watch = [&](int fd, bool listener) {
    if (connections.size() <= static_cast<std::size_t>(fd)) {
      connections.resize(static_cast<std::size_t>(fd) * 2 + 1);
    }
    connections[static_cast<std::size_t>(fd)] = {listener, {}};
    epoll_event event{EPOLLIN, {.fd = fd}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    watch(listen_on(static_cast<std::uint16_t>(std::atoi(argv[1]) + i)), true);
  }
  Counts counts;
  std::array<epoll_event, 512> events;
  for (;;) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      Connection& connection = connections[static_cast<std::size_t>(fd)];
      if (!connection.listener) {
        if (!serve(fd, connection, counts)) close(fd);
        continue;
      }
      int client = -1;
      while ((client = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        const int on = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ++counts.connections;
        watch(client, false);
      }
    }
  }
}
