// Fetches small documents by HTTP and HTTPS, several at a time, without holding up its thread.
//
// Certificates are checked against the system's authorities, or those that SSL_CERT_FILE and
// SSL_CERT_DIR name. Redirects are not followed. One thread, wake() excepted.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "host/auth/jwks.hpp"

namespace smg {

class HttpGet {
 public:
  static constexpr long kConnectTimeoutMs = 5'000;
  static constexpr long kTimeoutMs = 10'000;  // of a whole exchange
  static constexpr std::size_t kMostBytes = 256 * 1024;

  using Done = std::function<void(Document)>;

  HttpGet();
  ~HttpGet();  // what is on its way is dropped
  HttpGet(const HttpGet&) = delete;
  HttpGet& operator=(const HttpGet&) = delete;

  void get(const std::string& url, Done done);
  // Waits until something has arrived, wake() is called or a second is over; calls what is done.
  void run();
  void wake();  // any thread

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace smg
