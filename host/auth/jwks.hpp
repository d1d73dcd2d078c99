// The signing keys of one issuer, fetched when they are needed and kept.
//
// A key that is not older than kFresh is told at once. When the keys are older, or none has the id
// that is asked for, they are fetched, at most every kPause; whoever asks meanwhile waits for the
// same fetch. A fetch that fails changes nothing: the keys that are there stay, however old, and
// are told at once until one succeeds.
//
// One thread at a time: that of the TokenDesk. Only is_down() is for any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/auth/jwk.hpp"
#include "host/metrics/metrics.hpp"

namespace smg {

// What came of a request for a document.
struct Document {
  std::string body;
  std::string error;  // not empty: there is no body, and why
};

class Jwks : public std::enable_shared_from_this<Jwks> {
 public:
  static constexpr std::uint64_t kFresh = 3600'000'000'000;  // ns
  static constexpr std::uint64_t kPause = 10'000'000'000;

  struct Source {
    std::string issuer;
    std::string uri;  // of the keys; empty: the issuer tells

    bool operator==(const Source&) const = default;
  };
  struct Hooks {
    // Gets the document at a URL and hands it over, on the same thread, now or later.
    std::function<void(const std::string& url, std::function<void(Document)>)> fetch;
    std::function<std::uint64_t()> now;  // monotonic, ns
    Series succeeded, failed;            // fetches
  };
  // The key, or nullptr and why there is none.
  using Found = std::function<void(const PublicKey* key, std::string_view reason)>;

  Jwks(Source source, Hooks hooks) : source_(std::move(source)), hooks_(std::move(hooks)) {}

  // Calls `found` once, now or when the fetch that it has to wait for is over.
  void find(std::string kid, std::string alg, Found found);
  // Fetches the keys, unless they are there or on their way.
  void prepare();

  const Source& source() const { return source_; }
  // The issuer was asked, and has not told any key since the start. Any thread.
  bool is_down() const { return down_.load(std::memory_order_relaxed); }

 private:
  struct Waiter {
    std::string kid, alg;
    Found found;
  };
  // A fetch owns those who wait for it: what they keep may keep this, and a fetch that is dropped
  // lets go of both.
  using Waiters = std::shared_ptr<std::vector<Waiter>>;

  bool has(std::string_view kid) const;
  const PublicKey* look_up(std::string_view kid, std::string_view alg) const;
  void answer(const Waiter& waiter) const;
  bool may_fetch() const;
  void fetch();
  void discovered(const Document& document, const Waiters& waiters);
  void received(const Document& document, const Waiters& waiters);
  void fail(std::string reason, const Waiters& waiters);
  void settle(const Waiters& waiters);

  const Source source_;
  const Hooks hooks_;
  std::optional<KeySet> keys_;
  std::string failure_;  // of the last fetch
  std::uint64_t fetched_ = 0;
  std::optional<std::uint64_t> tried_;
  std::weak_ptr<std::vector<Waiter>> fetch_;  // empty: nothing is being fetched
  std::atomic<bool> down_{false};
};

}  // namespace smg
