// All engines of the process and their control port, on one thread and one epoll.
//
// Times are microseconds of the monotonic clock; tokens are due at ideal times, so a late one does
// not delay the next.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "answers.hpp"
#include "engine.hpp"

namespace smg::sim {

// Something that a script has planned: at `at` microseconds after the start.
struct Planned {
  std::uint64_t at = 0;
  int engine = -1;  // -1: all
  Fault fault;
};

class Server {
 public:
  explicit Server(std::string host);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens for a new engine; port 0 takes a free one. A sentence on failure.
  std::string add_engine(std::unique_ptr<Engine> engine, std::uint16_t port);
  std::string open_control(std::uint16_t port, std::uint16_t& bound);
  void plan(std::vector<Planned> script) { script_ = std::move(script); }
  const std::vector<std::unique_ptr<Engine>>& engines() const { return engines_; }

  void run();          // until stop()
  static void stop();  // from a signal handler

 private:
  struct Connection;
  struct Request;

  int listen_on(std::uint16_t port, std::uint16_t& bound, std::string& error);
  void accept_all(int listener, int engine);
  void on_ready(Connection& connection, std::uint32_t events);
  void parse(Connection& connection);
  void serve(Connection& connection, const std::string& method, const std::string& target,
             std::string body);
  void begin(Connection& connection, Wish wish, std::string body);
  void start_answer(Request& request, std::uint64_t first_token_at, std::uint32_t cached);
  void token_due(Request& request);
  void finish(Request& request);
  void admit(int engine);
  void reply(Connection& connection, int status, std::string_view type, std::string_view body);
  void send(Connection& connection, std::string_view data);
  void send_chunk(Connection& connection, const std::string& data);
  void flush(Connection& connection);
  void close_connection(Connection& connection, bool reset);
  void control(Connection& connection, const std::string& method, const std::string& target,
               const std::string& body);
  std::string state_json() const;
  void apply(int engine, const Fault& fault);
  void refuse(Engine& engine, bool on);
  void schedule(std::uint64_t at, std::uint64_t request);
  void run_due();

  struct Due {
    std::uint64_t at;
    std::uint64_t request;
    bool operator>(const Due& other) const { return at > other.at; }
  };

  std::string host_;
  int epoll_ = -1;
  int control_listener_ = -1;
  std::uint64_t now_ = 0;
  std::uint64_t started_ = 0;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Request>> requests_;
  std::vector<std::unique_ptr<Connection>> dead_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Planned> script_;
  std::string scratch_;
  std::uint64_t next_request_ = 1;
};

}  // namespace smg::sim
