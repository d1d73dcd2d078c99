// The thread on which tokens are verified and the keys for it are fetched.
//
// Made and destroyed by one owner; verify() and prepare() are for any thread. Destroyed, it waits
// for what the thread is about, and drops the rest unanswered.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/auth/http_get.hpp"
#include "host/auth/jwks.hpp"
#include "host/auth/jwt_rules.hpp"

namespace smg {

// What a token says, verified.
struct TokenVerdict {
  std::string reason;  // not empty: it is not valid, and why
  std::string principal;
  bool is_admin = false;
};

// The rules and keys by which tokens are verified.
struct TokenSigner {
  JwtRules rules;
  std::shared_ptr<Jwks> jwks;
};

class TokenDesk {
 public:
  using Done = std::function<void(TokenVerdict)>;  // on the desk's thread

  TokenDesk();
  ~TokenDesk();
  TokenDesk(const TokenDesk&) = delete;
  TokenDesk& operator=(const TokenDesk&) = delete;

  void verify(std::string token, std::shared_ptr<const TokenSigner> signer, Done done);
  void prepare(std::shared_ptr<const TokenSigner> signer);
  // For a Jwks of this desk.
  std::shared_ptr<Jwks> make_jwks(Jwks::Source source, Series succeeded, Series failed);

 private:
  using Job = std::function<void()>;

  void submit(Job job);
  void run(const std::stop_token& stop);

  HttpGet http_;
  std::mutex mutex_;
  std::vector<Job> jobs_;
  std::jthread thread_;
};

// One verification; `done` is called now or when the key is there. `now` tells seconds since 1970.
// On the thread of signer->jwks.
void verify_token(const std::string& token, const std::shared_ptr<const TokenSigner>& signer,
                  const std::function<double()>& now, TokenDesk::Done done);

}  // namespace smg
