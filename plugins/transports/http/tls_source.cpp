#include "tls_source.hpp"

#include <utility>

namespace smg::http {

TlsSource::TlsSource(TlsSettings settings) : settings_(std::move(settings)) {
  load(signatures());
}

std::shared_ptr<const TlsContext> TlsSource::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

TlsSource::Signatures TlsSource::signatures() const {
  Signatures all;
  const auto add = [&](const std::string& file) {
    struct stat info {};
    Signature& now = all.emplace_back();
    if (::stat(file.c_str(), &info) != 0) return;
    const auto ns = [](const timespec& time) {
      return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    now = {info.st_dev, info.st_ino, info.st_size, ns(info.st_mtim), ns(info.st_ctim)};
  };
  for (const auto& file : settings_.ca_files) add(file);
  if (!settings_.client_cert.empty()) {
    add(settings_.client_cert);
    add(settings_.client_key);
  }
  return all;
}

void TlsSource::load(const Signatures& now) {
  auto context = std::make_shared<const TlsContext>(settings_);
  loaded_ = seen_ = now;
  refused_.clear();
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
}

void TlsSource::renew() {
  const std::lock_guard lock(load_mutex_);
  const Signatures now = signatures();
  if (now != loaded_) load(now);
}

std::string TlsSource::look() {
  const std::lock_guard lock(load_mutex_);
  const Signatures now = signatures();
  const bool settled = now == std::exchange(seen_, now);
  if (!settled || now == loaded_ || now == refused_) return {};
  try {
    load(now);
  } catch (const Error& error) {
    refused_ = now;
    return error.what();
  }
  return {};
}

std::shared_ptr<const TlsSource> TlsSources::get(const TlsSettings& settings) {
  for (const auto& source : present()) {
    if (source->settings() != settings) continue;
    source->renew();
    return source;
  }
  auto source = std::make_shared<TlsSource>(settings);
  const std::lock_guard lock(mutex_);
  sources_.push_back(source);
  const bool has_files = !settings.ca_files.empty() || !settings.client_cert.empty();
  if (has_files && !thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
  return source;
}

std::vector<std::shared_ptr<TlsSource>> TlsSources::present() {
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [](const auto& source) { return source.expired(); });
  std::vector<std::shared_ptr<TlsSource>> all;
  for (const auto& source : sources_) {
    if (auto here = source.lock()) all.push_back(std::move(here));
  }
  return all;
}

void TlsSources::watch(const std::stop_token& stop) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kLookInterval, [] { return false; });
    }
    if (stop.stop_requested()) return;
    for (const auto& source : present()) {
      if (const auto problem = source->look(); !problem.empty()) {
        log_.warn("renewed TLS files are not taken up, those before stay in use: " + problem);
      }
    }
  }
}

}  // namespace smg::http
