// Generations that are left open, each on the loop on which it began.
//
// They behave as a transport's streams that show their tokens: tracked while they run, progress
// with each event. Notes go out with the ref of the endpoint that began the stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "smg/cpp/fleet.hpp"
#include "smg/cpp/loop.hpp"
#include "smg/transport.h"

namespace puppet {

class Streams : public std::enable_shared_from_this<Streams> {
 public:
  enum class Step { pour, finish };

  Streams(smg::Host host, const smg_sink* sink)
      : fleet_(host), loop_(host), sink_(sink), loops_(loop_.count()) {}

  // [loop] A number that no other stream of the loop has.
  uint64_t number() { return ++here().last; }
  void begin(const std::string& url, uint64_t worker, uint64_t ticket, uint64_t* stream);
  void cancel(uint64_t stream);
  // [any] Each of the worker's streams gets one more event, or its end.
  void drive(const std::string& url, Step step);

 private:
  struct Open {
    std::string url;
    uint64_t worker;
    uint64_t ticket;
  };
  struct Drive;
  struct OfLoop {
    std::map<uint64_t, Open> open;
    uint64_t last = 0;
  };

  void drive_here(const std::string& url, Step step);
  OfLoop& here() { return loops_[loop_.current()]; }

  smg::Fleet fleet_;
  smg::Loop loop_;
  const smg_sink* sink_;
  std::vector<OfLoop> loops_;
};

}  // namespace puppet
