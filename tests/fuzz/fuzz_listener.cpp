// Any bytes as a client's connection, through what the listener does with a head: route, request
// id, headers that are kept, the answer. Requests have one route or none, and answers are well
// formed whatever the request says. The first byte picks the limits and the settings.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/views.hpp"
#include "host/http/cors.hpp"
#include "host/http/request_id.hpp"
#include "host/http/response_head.hpp"
#include "host/http/routes.hpp"
#include "host/routing/request_buffer.hpp"
#include "require.hpp"
#include "smg/cpp/http1.hpp"

using namespace smg;
using test::require;

namespace {

const std::vector<std::string> kIdHeaders = {"x-request-id", "x-correlation-id"};
const std::vector<std::string> kNobody;
const std::vector<std::string> kOrigins = {"https://a.example"};

// A value that cannot become another line of a head.
bool is_one_line(std::string_view value) {
  return value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

RouteMatch route_of(const http1::RequestHead& head, std::string_view path) {
  const RouteMatch match = find_route(head.method, path);
  if (match.route == nullptr) {
    require(match.id.empty(), "no route, no name");
    return match;
  }
  const Route& route = *match.route;
  require(match.path_known, "a route has its path");
  require(route.method == head.method || (head.method == "HEAD" && route.method == "GET"),
          "and its method");
  const bool named = route.path.find('{') != std::string_view::npos;
  require(named != match.id.empty() && (named || route.path == path),
          "a name stands for the braces");
  require(match.id.find('/') == std::string_view::npos, "it is one segment");
  require(!is_admin(route.action) || route.worker_path.empty(), "admin routes end here");
  return match;
}

// What a worker or a policy would get.
void keep_headers(const http1::RequestHead& head) {
  static RequestBuffer buffer;
  buffer.reset();
  for (const auto& field : head.fields) {
    require(!field.name.empty() && is_one_line(field.name), "a name is a token");
    require(is_one_line(field.value), "a value is one line");
    buffer.add_header(
        field.name, field.value,
        field.name.size() % 2 == 0 ? RequestBuffer::Use::forward : RequestBuffer::Use::routing);
  }
  buffer.seal_headers();
  require(buffer.all().size() == head.fields.size(), "all are kept");
  require(buffer.forwarded().size() <= buffer.all().size(), "and some go on");
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    require(text(buffer.all()[i].name) == head.fields[i].name, "in their order");
    require(text(buffer.all()[i].value) == head.fields[i].value, "as they came");
  }
}

// The whole answer to a request, as its client reads it.
void answer(const MadeReply& reply, ReplyContext context) {
  static std::string out;
  static http1::ResponseScratch scratch;
  out.clear();
  append_reply(out, reply, context);
  http1::ResponseParser parser({}, context.head_only);
  http1::Step step = parser.next(out.data(), out.size(), scratch);
  require(step.kind == http1::StepKind::head, "an answer begins with a head");
  require(scratch.head.status == reply.status, "with its status");
  require(scratch.head.keep_alive == context.keep_alive, "and what becomes of the connection");
  bool has_id = context.request_id.empty();
  for (const auto& field : scratch.head.fields) {
    has_id |= field.name == "x-request-id" && field.value == context.request_id;
  }
  require(has_id, "it has the id of the request");
  std::size_t body = 0;
  for (std::size_t at = step.consumed; step.kind != http1::StepKind::complete;
       at += step.consumed) {
    step = parser.next(out.data() + at, out.size() - at, scratch);
    require(step.kind == http1::StepKind::body || step.kind == http1::StepKind::complete,
            "an answer is complete");
    body += step.body.size();
  }
  require(body == (context.head_only ? 0 : reply.body.size()), "with its whole body");
}

void begin(const http1::RequestHead& head, bool origins) {
  static Random random(1);
  static std::string id;
  static std::string cors;
  const std::string_view path = head.target.substr(0, head.target.find('?'));
  require(head.target.starts_with('/') && is_one_line(head.target), "a target is a path");
  const RouteMatch match = route_of(head, path);
  id.clear();
  choose_request_id(id, head.fields, kIdHeaders, path, random);
  require(!id.empty(), "every request has an id");
  for (const char c : id) require(c >= 0x20 && c < 0x7f, "that can be printed");
  cors.clear();
  for (const auto& field : head.fields) {
    if (equals_ignoring_case(field.name, "origin") && cors.empty()) {
      append_cors_headers(cors, origins ? kOrigins : kNobody, field.value);
    }
  }
  keep_headers(head);
  ReplyContext context;
  context.request_id = id;
  context.cors = cors;
  context.http10 = head.http10;
  context.keep_alive = head.keep_alive;
  context.head_only = head.method == "HEAD";
  if (match.route == nullptr) {
    answer({.status = match.path_known ? 405u : 404u, .close = head.has_body()}, context);
  } else {
    answer({.status = 200, .content_type = "text/plain", .body = path}, context);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static http1::RequestScratch scratch;
  http1::Limits limits;
  if ((data[0] & 1) != 0) limits = {.max_head = 512, .max_body = 64};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<http1::RequestParser> parser(std::in_place, limits);
  std::uint64_t body = 0;
  for (std::size_t at = 0;;) {
    const http1::Step step = parser->next(bytes.data() + at, bytes.size() - at, scratch);
    at += step.consumed;
    require(at <= bytes.size(), "no more is used than there is");
    switch (step.kind) {
      case http1::StepKind::need_more:
        return 0;
      case http1::StepKind::head:
        begin(scratch.head, (data[0] & 2) != 0);
        break;
      case http1::StepKind::body:
        body += step.body.size();
        require(body <= limits.max_body, "a body within its limit");
        break;
      case http1::StepKind::complete:
        body = 0;
        parser.emplace(limits);
        break;
      case http1::StepKind::error:
        require(step.status >= 400 && step.status < 600, "a refusal has a status");
        answer({.status = step.status, .body = step.reason, .close = true}, {});
        return 0;
    }
  }
}
