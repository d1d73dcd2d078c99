#include "host/auth/http_get.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace smg {
namespace {

struct Transfer {
  CURL* handle = nullptr;
  std::string body;
  HttpGet::Done done;
  char error[CURL_ERROR_SIZE] = {};
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.body.size() + size * count > HttpGet::kMostBytes) return 0;
  transfer.body.append(data, size * count);
  return size * count;
}

Document document_of(Transfer& transfer, CURLcode code) {
  if (code == CURLE_WRITE_ERROR) {
    return {{}, "the answer has more than " + std::to_string(HttpGet::kMostBytes) + " bytes"};
  }
  if (code != CURLE_OK) {
    return {{}, *transfer.error != '\0' ? transfer.error : curl_easy_strerror(code)};
  }
  long status = 0;
  curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return {{}, "the answer has status " + std::to_string(status)};
  return {std::move(transfer.body), {}};
}

}  // namespace

struct HttpGet::Impl {
  CURLM* multi = nullptr;
  std::vector<std::unique_ptr<Transfer>> transfers;

  std::unique_ptr<Transfer> remove(CURL* handle) {
    const auto found = std::find_if(transfers.begin(), transfers.end(),
                                    [&](const auto& one) { return one->handle == handle; });
    auto transfer = std::move(*found);
    transfers.erase(found);
    curl_multi_remove_handle(multi, handle);
    return transfer;
  }
};

HttpGet::HttpGet() : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  impl_->multi = curl_multi_init();
}

HttpGet::~HttpGet() {
  while (!impl_->transfers.empty()) {
    const auto transfer = impl_->remove(impl_->transfers.back()->handle);
    curl_easy_cleanup(transfer->handle);
  }
  curl_multi_cleanup(impl_->multi);
}

void HttpGet::get(const std::string& url, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->done = std::move(done);
  CURL* const handle = curl_easy_init();
  if (handle == nullptr || impl_->multi == nullptr) {
    return transfer->done({{}, "libcurl has no memory"});
  }
  transfer->handle = handle;
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, kTimeoutMs);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer->error);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "smg");
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, transfer.get());
  // The library itself does not look at these.
  if (const char* file = std::getenv("SSL_CERT_FILE")) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, file);
  }
  if (const char* directory = std::getenv("SSL_CERT_DIR")) {
    curl_easy_setopt(handle, CURLOPT_CAPATH, directory);
  }
  curl_multi_add_handle(impl_->multi, handle);
  impl_->transfers.push_back(std::move(transfer));
}

void HttpGet::run() {
  int running = 0;
  curl_multi_perform(impl_->multi, &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(impl_->multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const auto transfer = impl_->remove(message->easy_handle);
    Document document = document_of(*transfer, code);
    curl_easy_cleanup(transfer->handle);
    transfer->done(std::move(document));
  }
  constexpr int kLongestMs = 1'000;
  curl_multi_poll(impl_->multi, nullptr, 0, kLongestMs, nullptr);
}

void HttpGet::wake() {
  curl_multi_wakeup(impl_->multi);
}

}  // namespace smg
