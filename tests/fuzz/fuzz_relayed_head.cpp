// Any bytes as a worker's answer: what the listener makes of its head for the client is one head,
// with the listener's own framing and fields, and nothing of the worker's beyond what it may say.
// The first byte says what the client is like, the rest is the answer.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/views.hpp"
#include "host/http/response_head.hpp"
#include "require.hpp"
#include "smg/cpp/http1.hpp"

using namespace smg;
using test::require;

namespace {

constexpr std::string_view kId = "req-1";
constexpr std::string_view kWorker = "http://w:8000";

const http1::Field* only(const http1::ResponseHead& head, std::string_view name) {
  const http1::Field* found = nullptr;
  for (const auto& field : head.fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    require(found == nullptr, "a field comes once");
    found = &field;
  }
  return found;
}

bool brings(const http1::ResponseHead& head, const http1::Field& field) {
  for (const auto& each : head.fields) {
    if (each.name == field.name && each.value == field.value) return true;
  }
  return false;
}

// What the listener writes itself, whatever the worker said.
bool is_own(std::string_view name) {
  for (const std::string_view own : {"x-request-id", "x-smg-routed-worker-id", "content-length",
                                     "transfer-encoding", "connection", "content-type", "vary"}) {
    if (equals_ignoring_case(name, own)) return true;
  }
  return false;
}

void check(const http1::ResponseHead& worker, const http1::ResponseHead& client,
           const RelayedHead& relayed, Framing framing, const ReplyContext& context) {
  require(client.status == worker.status, "the status is the worker's");
  const http1::Field* const id = only(client, "x-request-id");
  require(id != nullptr && id->value == kId, "the request id is the listener's");
  const http1::Field* const from = only(client, "x-smg-routed-worker-id");
  require(from != nullptr && from->value == kWorker, "the worker is the one that was asked");
  for (const std::string_view hop :
       {"keep-alive", "te", "trailer", "upgrade", "x-smg-error-code"}) {
    require(only(client, hop) == nullptr, "no field of one hop is passed on");
  }
  require(client.chunked == (framing == Framing::chunked), "chunked where the listener says so");
  const std::int64_t length = framing == Framing::length ? relayed.content_length : -1;
  require(client.content_length == length, "the length is what the body will have");
  require(client.keep_alive == context.keep_alive, "the connection stays as the listener says");
  for (const auto& field : client.fields) {
    require(is_own(field.name) || brings(worker, field), "the rest is the worker's");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static http1::ResponseScratch scratch;
  static http1::ResponseScratch again;
  static std::vector<smg_header> headers;
  static std::string out;

  const auto bytes = reinterpret_cast<const char*>(data) + 1;
  http1::ResponseParser parser({}, (data[0] & 1) != 0);
  if (parser.next(bytes, size - 1, scratch).kind != http1::StepKind::head) return 0;
  const http1::ResponseHead& head = scratch.head;
  headers.clear();
  for (const auto& field : head.fields) headers.push_back({view(field.name), view(field.value)});
  RelayedHead relayed;
  relayed.status = head.status;
  relayed.headers = headers;
  relayed.content_length = head.content_length;
  relayed.worker_url = kWorker;
  relayed.event_stream = (data[0] & 16) != 0;
  ReplyContext context;
  context.request_id = kId;
  context.head_only = (data[0] & 1) != 0;
  context.http10 = (data[0] & 2) != 0;
  context.keep_alive = (data[0] & 4) != 0;
  if ((data[0] & 8) != 0) context.cors = "vary: origin\r\n";
  out.clear();
  const Framing framing = append_relayed_head(out, relayed, context);
  // The client's parser may have smaller limits than the worker's answer has used up.
  if (head.fields.size() > 90 || out.size() > 60'000) return 0;

  http1::ResponseParser client({}, context.head_only);
  const http1::Step step = client.next(out.data(), out.size(), again);
  require(step.kind == http1::StepKind::head, "what goes to the client is a head");
  require(step.consumed == out.size(), "and nothing else");
  check(head, again.head, relayed, framing, context);
  return 0;
}
