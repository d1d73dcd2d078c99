#include "journal.hpp"

#include <openssl/evp.h>

#include <array>
#include <boost/json.hpp>
#include <memory>

namespace smg::sim {

namespace {

namespace json = boost::json;

// Method, target and fields of a raw head, which the reader has found well-formed.
void describe_head(std::string_view head, json::object& out) {
  const auto next_line = [&head] {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    return line;
  };
  const std::string_view line = next_line();
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  out["method"] = line.substr(0, first);
  out["target"] = line.substr(first + 1, last - first - 1);
  out["version"] = line.substr(last + 1);
  json::array headers;
  while (true) {
    const std::string_view field = next_line();
    if (field.empty()) break;
    const std::size_t colon = field.find(':');
    std::string_view value = field.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    headers.push_back(json::array{field.substr(0, colon), value});
  }
  out["headers"] = std::move(headers);
}

}  // namespace

std::string sha256_hex(std::string_view data) {
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> kMethod(
      EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free);
  static const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> kContext(EVP_MD_CTX_new(),
                                                                           EVP_MD_CTX_free);
  std::array<unsigned char, 32> digest{};
  EVP_DigestInit_ex2(kContext.get(), kMethod.get(), nullptr);
  EVP_DigestUpdate(kContext.get(), data.data(), data.size());
  EVP_DigestFinal_ex(kContext.get(), digest.data(), nullptr);
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (const unsigned char byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

Journal::Entry* Journal::find(std::uint64_t number) {
  if (entries_.empty() || number < entries_.front().number) return nullptr;
  const std::size_t at = static_cast<std::size_t>(number - entries_.front().number);
  return at < entries_.size() ? &entries_[at] : nullptr;
}

void Journal::head_read(Connection& connection) {
  connection.journal_entry = ++heads_;
  if (connection.request().method == "POST") ++posts_;
  if (capacity_ == 0) return;
  if (entries_.size() == capacity_) entries_.pop_front();
  Entry& entry = entries_.emplace_back();
  entry.number = connection.journal_entry;
  entry.connection = connection.id();
  entry.index = connection.request_index();
  entry.head = connection.request().head;
  entry.monotonic_ms = Loop::monotonic_ms();
  entry.unix_ms = Loop::unix_ms();
}

void Journal::request_read(Connection& connection) {
  ++complete_;
  Entry* entry = find(connection.journal_entry);
  if (entry == nullptr) return;
  entry->complete = true;
  entry->body_bytes = connection.request().body.size();
  entry->body_sha256 = sha256_hex(connection.request().body);
}

void Journal::refused(Connection& connection, const std::string& reason) {
  ++refused_;
  if (capacity_ == 0) return;
  if (refusals_.size() == capacity_) refusals_.pop_front();
  refusals_.push_back({connection.id(), reason, connection.request().head.substr(0, 2000)});
}

void Journal::reply_sent(Connection& connection) {
  if (connection.journal_entry == 0) return;  // refused, it was no request
  if (connection.request().method == "POST") ++answered_;
  if (Entry* entry = find(connection.journal_entry)) entry->answered = true;
}

void Journal::peer_left(Connection& connection, AbortKind kind) {
  ++aborted_;
  if (capacity_ == 0) return;
  if (aborts_.size() == capacity_) aborts_.pop_front();
  Abort& abort = aborts_.emplace_back();
  abort.number = connection.journal_entry;
  abort.connection = connection.id();
  abort.target = connection.request().target;
  abort.reset = kind == AbortKind::Reset;
  abort.in_request = !connection.replying();
  abort.bytes_sent = connection.bytes_sent();
  abort.monotonic_ms = Loop::monotonic_ms();
  abort.unix_ms = Loop::unix_ms();
  if (Entry* entry = find(connection.journal_entry); entry != nullptr && !entry->complete) {
    entry->body_bytes = connection.request().body.size();
  }
}

void Journal::clear() {
  entries_.clear();
  aborts_.clear();
  refusals_.clear();
  // heads_ numbers the requests and goes on; what is open keeps its number.
  posts_ = complete_ = answered_ = aborted_ = refused_ = 0;
}

json::object Journal::counts() const {
  return {{"requests", posts_},
          {"requests_read", complete_},
          {"completed", answered_},
          {"aborted", aborted_},
          {"refused", refused_}};
}

json::array Journal::requests(bool posts_only) const {
  json::array list;
  for (const Entry& entry : entries_) {
    if (posts_only && !entry.head.starts_with("POST ")) continue;
    json::object item{
        {"number", entry.number}, {"connection", entry.connection}, {"index", entry.index}};
    describe_head(entry.head, item);
    item["body_bytes"] = entry.body_bytes;
    item["body_sha256"] = entry.body_sha256;
    item["complete"] = entry.complete;
    item["answered"] = entry.answered;
    item["monotonic_ms"] = entry.monotonic_ms;
    item["unix_ms"] = entry.unix_ms;
    list.push_back(std::move(item));
  }
  return list;
}

json::array Journal::aborts() const {
  json::array list;
  for (const Abort& abort : aborts_) {
    list.push_back({{"number", abort.number},
                    {"connection", abort.connection},
                    {"target", abort.target},
                    {"how", abort.reset ? "reset" : "closed"},
                    {"phase", abort.in_request ? "request" : "answer"},
                    {"bytes_sent", abort.bytes_sent},
                    {"monotonic_ms", abort.monotonic_ms},
                    {"unix_ms", abort.unix_ms}});
  }
  return list;
}

json::array Journal::refusals() const {
  json::array list;
  for (const Refusal& refusal : refusals_) {
    list.push_back(
        {{"connection", refusal.connection}, {"reason", refusal.reason}, {"head", refusal.head}});
  }
  return list;
}

}  // namespace smg::sim
