// The listener's certificate: the TLS context that new connections get, made anew when its files
// change.
//
// A thread of its own looks at the files every kLookInterval, never a loop. Who is still writing is
// left alone: files are read when two looks in a row see the same. What cannot be used (one half of
// a pair replaced, a file that is missing) leaves the context as it is and is tried again.
// Connections keep the context they began with. Session tickets stay good across a change, unless
// the authorities for client certificates are others.
#pragma once

#include <openssl/types.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/base/file_signature.hpp"
#include "host/config/config.hpp"
#include "host/metrics/families.hpp"

namespace smg {

class ServerTls {
 public:
  static constexpr std::uint64_t kLookInterval = 500'000'000;  // ns

  // Reads the files. nullptr, and a sentence that names the file at fault, if they cannot be used.
  // REQUIRES: a cert_path and a key_path.
  static std::unique_ptr<ServerTls> make(const Tls& files, Families& families, std::string& error);
  ~ServerTls();
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  // Watches the files from now on.
  void start();
  // [any] Has them read soon, changed or not.
  void reload();

  // [any] The context for a new connection.
  std::shared_ptr<SSL_CTX> context() const;
  // [any] How handshakes end.
  const Series& succeeded() const { return succeeded_; }
  const Series& failed() const { return failed_; }

  // Of the thread, or of a test without one: one look at the files and what follows from it, and
  // what reload() asks for.
  void look();
  void read_now();

 private:
  using Signatures = std::array<FileSignature, 3>;  // certificate, key, client CA

  ServerTls(const Tls& files, Families& families);
  Signatures signatures() const;
  void try_files(const Signatures& now);
  // A sentence, or the new context is in force.
  std::string load(const Signatures& now);
  void run(const std::stop_token& stop);

  const Tls files_;
  Families& families_;
  const Series succeeded_;
  const Series failed_;
  mutable std::mutex mutex_;  // of the context
  std::shared_ptr<SSL_CTX> context_;

  // The thread's.
  Signatures loaded_{};
  Signatures seen_{};
  Signatures tried_{};
  std::uint32_t looks_since_try_ = 0;
  std::string told_;  // the failure, if the last try was one

  std::mutex wake_mutex_;
  std::condition_variable_any wake_;
  bool asked_ = false;
  std::jthread thread_;
};

}  // namespace smg
