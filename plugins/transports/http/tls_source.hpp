// Where endpoints have their TLS contexts from: one for all workers with the same settings, made
// anew when its files are.
//
// A thread looks at the files every kLookInterval; who is still writing is left alone, so a change
// counts when two looks see the same. Files that cannot be used leave the context as it is.
// Connections keep the one they began with.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "smg/cpp/log.hpp"
#include "tls_context.hpp"

namespace smg::http {

class TlsSource {
 public:
  // Throws Error.
  explicit TlsSource(TlsSettings settings);
  TlsSource(const TlsSource&) = delete;
  TlsSource& operator=(const TlsSource&) = delete;

  const TlsSettings& settings() const { return settings_; }
  // For a new connection. Any thread.
  std::shared_ptr<const TlsContext> context() const;
  // Reads the files if they have changed. Throws Error.
  void renew();
  // The same once they no longer change: by the watching thread, at every look. What was wrong, if
  // that is news.
  std::string look();

 private:
  // What tells one state of a file from another; zero if there is none.
  struct Signature {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t modified = 0, changed = 0;
    bool operator==(const Signature&) const = default;
  };
  using Signatures = std::vector<Signature>;
  Signatures signatures() const;
  void load(const Signatures& now);

  const TlsSettings settings_;
  std::mutex load_mutex_;  // of all but the context
  Signatures loaded_;
  Signatures seen_;
  Signatures refused_;
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> context_;
};

class TlsSources {
 public:
  static constexpr std::chrono::milliseconds kLookInterval{1000};

  explicit TlsSources(Log log) : log_(log) {}
  TlsSources(const TlsSources&) = delete;
  TlsSources& operator=(const TlsSources&) = delete;

  // Control thread, as stop(); throws Error.
  std::shared_ptr<const TlsSource> get(const TlsSettings& settings);
  // Watches no longer.
  void stop() { thread_ = {}; }

 private:
  void watch(const std::stop_token& stop);
  std::vector<std::shared_ptr<TlsSource>> present();

  const Log log_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::weak_ptr<TlsSource>> sources_;
  std::jthread thread_;  // once there are files to watch
};

}  // namespace smg::http
