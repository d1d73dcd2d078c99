// A small GET of this plugin's own, its answer collected in memory. Control thread.
//
// One request at a time; run() may be called again from within `done`. The owner keeps it until
// `done` or cancel().
#pragma once

#include <array>
#include <string>

#include "smg/transport.h"

namespace smg::http {

class Endpoint;

class Fetch {
 public:
  // `context` is what run() was given. `fetch` tells the rest.
  using Done = void (*)(void* context);

  // `done` may be called from within. `path` is copied.
  // `anonymous`: without the worker's credential.
  void run(Endpoint& endpoint, std::string_view path, bool anonymous, uint64_t deadline, Done done,
           void* context);
  void cancel();

  uint32_t status() const { return status_; }  // 0: no answer came, problem() says why
  bool ok() const { return status_ >= 200 && status_ < 300; }
  const std::string& body() const { return body_; }
  const std::string& problem() const { return problem_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{8} * 1024 * 1024;
  static const smg_sink kSink;

  static Fetch& of(uint64_t ticket);
  void finish(std::string_view problem);

  Endpoint* endpoint_ = nullptr;
  Done done_ = nullptr;
  void* context_ = nullptr;
  uint64_t stream_ = 0;
  std::string path_;
  std::string authorization_;
  std::array<smg_header, 2> headers_{};
  smg_request request_{};
  uint32_t status_ = 0;
  std::string body_;
  std::string problem_;
};

}  // namespace smg::http
