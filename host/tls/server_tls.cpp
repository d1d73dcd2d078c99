#include "host/tls/server_tls.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "host/tls/server_context.hpp"

namespace smg {
namespace {

constexpr std::uint32_t kRetryLooks = 20;  // after a failure that no change of the files explains

std::string date(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

void warn_of_dates(const Tls& files, const ServerContext& made) {
  const std::time_t now = std::time(nullptr);
  if (made.not_after <= now) {
    spdlog::warn(
        "tls.cert_path = \"{}\": the certificate has expired on {}; clients will refuse it",
        files.cert_path, date(made.not_after));
  } else if (made.not_before > now) {
    spdlog::warn(
        "tls.cert_path = \"{}\": the certificate is not valid before {}; clients will refuse it",
        files.cert_path, date(made.not_before));
  }
}

}  // namespace

ServerTls::ServerTls(const Tls& files, Families& families)
    : files_(files),
      families_(families),
      succeeded_(families.http_tls_handshakes.with({"success"})),
      failed_(families.http_tls_handshakes.with({"failure"})) {}

ServerTls::~ServerTls() = default;

std::unique_ptr<ServerTls> ServerTls::make(const Tls& files, Families& families,
                                           std::string& error) {
  std::unique_ptr<ServerTls> made(new ServerTls(files, families));
  made->tried_ = made->seen_ = made->signatures();
  error = made->load(made->seen_);
  if (!error.empty()) return nullptr;
  return made;
}

std::shared_ptr<SSL_CTX> ServerTls::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

ServerTls::Signatures ServerTls::signatures() const {
  Signatures now{FileSignature::of(files_.cert_path), FileSignature::of(files_.key_path)};
  if (!files_.client_ca_path.empty()) now[2] = FileSignature::of(files_.client_ca_path);
  return now;
}

std::string ServerTls::load(const Signatures& now) {
  ServerContext made = make_server_context(files_);
  if (made.context == nullptr) return std::move(made.error);
  warn_of_dates(files_, made);
  // A ticket carries what was thought of its client's certificate.
  if (context_ != nullptr && loaded_[2] == now[2]) {
    keep_ticket_keys(context_.get(), made.context.get());
  }
  loaded_ = now;
  families_.tls_certificate_expiry.set(static_cast<double>(made.not_after));
  const std::lock_guard lock(mutex_);
  context_ = std::move(made.context);
  return {};
}

void ServerTls::look() {
  const Signatures now = signatures();
  const bool settled = now == std::exchange(seen_, now);
  ++looks_since_try_;
  if (!settled || now == loaded_) return;
  if (now != tried_) {
    read_now();
  } else if (looks_since_try_ >= kRetryLooks) {
    try_files(now);
  }
}

void ServerTls::read_now() {
  told_.clear();
  try_files(signatures());
}

void ServerTls::try_files(const Signatures& now) {
  tried_ = now;
  looks_since_try_ = 0;
  std::string problem = load(now);
  if (problem.empty()) {
    told_.clear();
    families_.tls_certificate_reloads.with({"applied"}).add();
    spdlog::info("certificate of the listener read anew: {}", files_.cert_path);
    return;
  }
  if (problem == told_) return;
  told_ = std::move(problem);
  families_.tls_certificate_reloads.with({"failed"}).add();
  spdlog::warn("certificate of the listener not read anew, the one before stays in use: {}", told_);
}

void ServerTls::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ServerTls::reload() {
  {
    const std::lock_guard lock(wake_mutex_);
    asked_ = true;
  }
  wake_.notify_one();
}

void ServerTls::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool asked = false;
    {
      std::unique_lock lock(wake_mutex_);
      wake_.wait_for(lock, stop, std::chrono::nanoseconds(kLookInterval), [&] { return asked_; });
      if (stop.stop_requested()) return;
      asked = std::exchange(asked_, false);
    }
    asked ? read_now() : look();
  }
}

}  // namespace smg
