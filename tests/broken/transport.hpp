// A small HTTP/1.1 transport, one connection for each request, that breaks the one rule that a
// definition on the compiler's command line names. Without one it keeps them all.
//
// An Exchange lives on its loop from start to finish; when it is over it is deleted at the end of
// the turn, so that calls on the stack find it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "smg/cpp/fleet.hpp"
#include "smg/cpp/http1.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/cpp/transport.hpp"

namespace broken {

class Transport;

// Who is told about an exchange.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::int32_t head(const smg::http1::ResponseHead& head) = 0;
  virtual std::int32_t data(std::string_view bytes) = 0;
  virtual void end(std::uint32_t kind, std::uint32_t phase, std::string_view detail) = 0;
};

class Exchange {
 public:
  Exchange(Transport& transport, std::uint64_t number, std::unique_ptr<Listener> listener);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void begin(const smg_worker& worker, std::string bytes, std::uint64_t deadline);
  void pause();
  void resume();
  void cancel();
  std::uint64_t number() const { return number_; }

 private:
  void ready(std::uint32_t events) noexcept;
  void late() noexcept;
  void read_on() noexcept;
  void gone() noexcept;
  void write();
  void read();
  void parse();
  void told(std::int32_t answer);
  void finish(std::uint32_t kind, std::string_view detail);
  void let_go();

  Transport& transport_;
  const std::uint64_t number_;
  std::unique_ptr<Listener> listener_;
  smg::Watch<&Exchange::ready> watch_{*this};
  smg::Timer<&Exchange::late> timer_{*this};
  smg::Task<&Exchange::read_on> read_on_{*this};
  smg::Task<&Exchange::gone> gone_{*this};
  smg::http1::ResponseParser parser_{smg::http1::Limits{}, false};
  std::string out_;
  std::string in_;
  std::uint32_t phase_ = SMG_PHASE_CONNECT;
  int pauses_ = 0;
  bool eof_ = false;
  bool paused_ = false;
  bool done_ = false;
  bool reading_on_ = false;
  enum class Inside { nothing, head, data, end } inside_ = Inside::nothing;
};

class Endpoint {
 public:
  Endpoint(Transport& transport, const smg_worker& worker)
      : transport_(transport), worker_(worker) {}
  void start(const smg_request& request, std::uint64_t ticket, std::uint64_t* stream);
  void probe(const smg_probe& probe, smg_probe_done done, void* context);
  void quiesce() {}

 private:
  Transport& transport_;
  const smg_worker& worker_;
};

class Transport {
 public:
  static constexpr smg_view kSchemes[] = {smg::view("http")};

  Transport(smg::Host host, const smg_sink* sink);
  std::unique_ptr<Endpoint> open(const smg_worker& worker) {
    return std::make_unique<Endpoint>(*this, worker);
  }
  void pause(std::uint64_t stream);
  void resume(std::uint64_t stream);
  void cancel(std::uint64_t stream);

  Exchange& add(std::unique_ptr<Listener> listener, std::uint64_t* number);
  std::unique_ptr<Exchange> take(std::uint64_t number);
  const smg_sink& sink() const { return *sink_; }
  const smg::Loop& loop() const { return loop_; }
  const smg::Fleet& fleet() const { return fleet_; }
  const smg::Host& host() const { return host_; }

 private:
  Exchange* find(std::uint64_t number);

  // Of one loop.
  struct Running {
    std::unordered_map<std::uint64_t, std::unique_ptr<Exchange>> exchanges;
    std::uint64_t last = 0;
  };

  smg::Host host_;
  const smg_sink* sink_;
  smg::Loop loop_;
  smg::Fleet fleet_;
  std::vector<Running> running_;
};

}  // namespace broken
