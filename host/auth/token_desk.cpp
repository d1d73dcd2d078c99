#include "host/auth/token_desk.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "host/auth/jwt.hpp"

namespace smg {
namespace {

double wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::uint64_t monotonic() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

}  // namespace

void verify_token(const std::string& token, const std::shared_ptr<const TokenSigner>& signer,
                  const std::function<double()>& now, TokenDesk::Done done) {
  // Kept until the key is there; the parts of the token are views of it.
  struct Case {
    std::string token;
    std::optional<Jwt> jwt;
  };
  const auto one = std::make_shared<Case>(Case{token, {}});
  std::string problem;
  one->jwt = parse_jwt(one->token, problem);
  // Claims first: they cost little, and what they refuse needs no key.
  if (one->jwt) problem = claims_problem(one->jwt->claims, signer->rules, now());
  if (!problem.empty()) return done({std::move(problem), {}, false});
  signer->jwks->find(one->jwt->kid, one->jwt->alg,
                     [one, signer, done](const PublicKey* key, std::string_view reason) {
                       const Jwt& jwt = *one->jwt;
                       if (key == nullptr) return done({std::string(reason), {}, false});
                       if (!verify_signature(*key, jwt.alg, jwt.signed_part, jwt.signature)) {
                         return done({"the signature is wrong", {}, false});
                       }
                       done({{}, principal_of(jwt.claims), is_admin(jwt.claims, signer->rules)});
                     });
}

TokenDesk::TokenDesk() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

TokenDesk::~TokenDesk() {
  thread_.request_stop();
  http_.wake();
  thread_.join();
}

void TokenDesk::verify(std::string token, std::shared_ptr<const TokenSigner> signer, Done done) {
  submit([token = std::move(token), signer = std::move(signer), done = std::move(done)] {
    verify_token(token, signer, wall_clock, done);
  });
}

void TokenDesk::prepare(std::shared_ptr<const TokenSigner> signer) {
  submit([signer = std::move(signer)] { signer->jwks->prepare(); });
}

std::shared_ptr<Jwks> TokenDesk::make_jwks(Jwks::Source source, Series succeeded, Series failed) {
  Jwks::Hooks hooks;
  hooks.fetch = [this](const std::string& url, HttpGet::Done done) {
    http_.get(url, std::move(done));
  };
  hooks.now = monotonic;
  hooks.succeeded = succeeded;
  hooks.failed = failed;
  return std::make_shared<Jwks>(std::move(source), std::move(hooks));
}

void TokenDesk::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  http_.wake();
}

void TokenDesk::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<Job> jobs;
    {
      const std::lock_guard lock(mutex_);
      jobs.swap(jobs_);
    }
    try {
      for (auto& job : jobs) {
        if (stop.stop_requested()) return;
        job();
      }
      http_.run();
    } catch (const std::exception& error) {
      spdlog::error("tokens cannot be verified: {}", error.what());
    }
  }
}

}  // namespace smg
