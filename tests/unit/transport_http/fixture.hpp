// The plugin under test, loaded as the gateway loads it; a worker behind it; and calls that record
// their answers.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scripted_server.hpp"
#include "smg/cpp/view.hpp"
#include "smg/plugin.h"
#include "smg/transport.h"
#include "test_loop.hpp"

namespace smg::test {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Library {
  explicit Library(const char* path = HTTP_PLUGIN) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<smg_plugin_entry_fn>(dlsym(handle, "smg_plugin_entry"));
    library = entry();
    plugin = library->plugins;
    api = static_cast<const smg_transport_api*>(plugin->api);
  }
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* handle;
  const smg_library* library;
  const smg_plugin* plugin;
  const smg_transport_api* api;
};

// One call through the transport and what came of it. Its address is its ticket.
struct Call {
  std::string method = "POST";
  std::string path = "/v1/chat/completions";
  std::vector<std::pair<std::string, std::string>> headers = {{"content-type", "application/json"}};
  std::vector<std::string> body;
  std::uint32_t flags = 0;
  std::uint64_t timeout = 0;  // ns from start()

  // What to do and answer when something comes.
  std::function<std::int32_t()> on_head;
  std::function<std::int32_t(std::string_view)> on_data;
  std::function<void()> on_end;
  std::function<void()> on_release;

  // What came.
  std::uint64_t stream = 0;
  std::uint32_t status = 0;
  std::int64_t content_length = -2;
  std::vector<std::pair<std::string, std::string>> answer_headers;
  std::string answer;
  int heads = 0;
  int pieces = 0;
  int ends = 0;
  int releases = 0;
  std::uint32_t kind = 99;
  std::uint32_t phase = 99;
  std::uint32_t resends = 0;
  std::string detail;

  bool ended() const { return ends > 0; }
  std::string header(std::string_view name) const {
    for (const auto& [key, value] : answer_headers) {
      if (key == name) return value;
    }
    return {};
  }

  smg_request request{};
  std::vector<smg_header> header_views;
  std::vector<smg_view> body_views;
};

inline Call& call_of(std::uint64_t ticket) {
  return *reinterpret_cast<Call*>(ticket);
}

inline const smg_sink& recording_sink() {
  static const smg_sink sink = {
      sizeof(smg_sink),
      0,
      [](std::uint64_t ticket, const smg_response_head* head) -> std::int32_t {
        Call& call = call_of(ticket);
        ++call.heads;
        call.status = head->status;
        call.content_length = head->content_length;
        for (std::uint32_t i = 0; i < head->header_count; ++i) {
          call.answer_headers.emplace_back(text(head->headers[i].name),
                                           text(head->headers[i].value));
        }
        return call.on_head ? call.on_head() : SMG_CONTINUE;
      },
      [](std::uint64_t ticket, const char* data, std::uint64_t size) -> std::int32_t {
        Call& call = call_of(ticket);
        ++call.pieces;
        call.answer.append(data, size);
        return call.on_data ? call.on_data({data, size}) : SMG_CONTINUE;
      },
      [](std::uint64_t ticket, const smg_outcome* outcome) {
        Call& call = call_of(ticket);
        ++call.ends;
        call.kind = outcome->kind;
        call.phase = outcome->phase;
        call.resends = outcome->resends;
        call.detail = text(outcome->detail);
        if (call.on_end) call.on_end();
      },
      [](std::uint64_t ticket) {
        Call& call = call_of(ticket);
        ++call.releases;
        if (call.on_release) call.on_release();
      }};
  return sink;
}

struct WorkerText {
  std::string scheme = "http";
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string base_path = {};
  std::string api_key = {};
  std::string runtime = {};
  // Of its own; none of the three: the worker says nothing of TLS.
  std::vector<std::string> ca_files = {};
  std::string client_cert = {};
  std::string client_key = {};
};

// One transport instance with one worker, on a host of one loop unless told otherwise.
class Gateway {
 public:
  explicit Gateway(WorkerText worker, std::map<std::string, std::string> options = {},
                   std::uint32_t loops = 1)
      : host(loops), text_(std::move(worker)) {
    host.plugin = library.plugin;
    host.options = std::move(options);
    char room[512];
    smg_error error{room, sizeof room, 0};
    if (library.api->create(host.raw(), &recording_sink(), &self, &error) != SMG_OK) {
      throw std::runtime_error(std::string(room, error.size));
    }
    url_ = text_.scheme + "://" + text_.host + ":" + std::to_string(text_.port) + text_.base_path;
    worker_.struct_size = sizeof worker_;
    worker_.dp_rank = -1;
    worker_.url = worker_.base_url = view(url_);
    worker_.scheme = view(text_.scheme);
    worker_.host = view(text_.host);
    worker_.base_path = view(text_.base_path);
    worker_.port = text_.port;
    worker_.api_key = view(text_.api_key);
    worker_.runtime = view(text_.runtime);
    for (const auto& file : text_.ca_files) ca_files_.push_back(view(file));
    tls_ = {sizeof tls_, static_cast<std::uint32_t>(ca_files_.size()), ca_files_.data(),
            view(text_.client_cert), view(text_.client_key)};
    if (!ca_files_.empty() || !text_.client_cert.empty()) worker_.tls = &tls_;
    if (library.api->open(self, &worker_, &endpoint, &error) != SMG_OK) {
      library.api->destroy(self);
      throw std::runtime_error(std::string(room, error.size));
    }
  }
  explicit Gateway(const ScriptedServer& server, std::map<std::string, std::string> options = {})
      : Gateway(WorkerText{.port = server.port()}, std::move(options)) {}
  ~Gateway() { close(); }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Opens the worker once more, for calls from now on. Returns the endpoint before, to be closed.
  void* reopen() {
    void* const before = endpoint;
    REQUIRE(library.api->open(self, &worker_, &endpoint, nullptr) == SMG_OK);
    return before;
  }
  void close_endpoint(void* other) const {
    library.api->quiesce(other);
    library.api->close(other);
  }

  // As the host does: quiesce on the loop, then close, then destroy.
  void close() {
    if (self == nullptr) return;
    library.api->quiesce(endpoint);
    library.api->close(endpoint);
    library.api->destroy(self);
    self = nullptr;
    host.loop().turn(0);
  }

  void start(Call& call) {
    call.request = {};
    call.request.struct_size = sizeof call.request;
    call.request.endpoint = SMG_ENDPOINT_CHAT;
    call.request.flags = call.flags;
    call.request.method = view(call.method);
    call.request.path = view(call.path);
    call.header_views.clear();
    for (const auto& [name, value] : call.headers) {
      call.header_views.push_back({view(name), view(value)});
    }
    call.request.headers = call.header_views.data();
    call.request.header_count = static_cast<std::uint32_t>(call.header_views.size());
    call.body_views.clear();
    for (const auto& piece : call.body) {
      call.body_views.push_back(view(piece));
      call.request.body_size += piece.size();
    }
    call.request.body = call.body_views.data();
    call.request.body_count = static_cast<std::uint32_t>(call.body_views.size());
    if (call.timeout != 0) call.request.deadline = TestLoop::current()->now() + call.timeout;
    library.api->start(endpoint, &call.request, reinterpret_cast<std::uint64_t>(&call),
                       &call.stream);
  }

  // Starts the call and turns the loop until it has ended.
  bool run(Call& call) {
    start(call);
    return host.run_until([&] { return call.ended(); });
  }

  void pause(const Call& call) { library.api->pause(self, call.stream); }
  void resume(const Call& call) { library.api->resume(self, call.stream); }
  void cancel(const Call& call) { library.api->cancel(self, call.stream); }

  Library library;
  TestHost host;
  void* self = nullptr;
  void* endpoint = nullptr;

 private:
  WorkerText text_;
  std::string url_;
  std::vector<smg_view> ca_files_;
  smg_worker_tls tls_{};
  smg_worker worker_{};
};

// An answer with a length.
inline std::string ok(std::string_view body, std::string_view more_headers = "") {
  return "HTTP/1.1 200 OK\r\n" + std::string(more_headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// A script that answers every request with `answer`.
inline ScriptedServer::Script always(std::string answer) {
  return [answer = std::move(answer)](Peer& peer) {
    while (!peer.read_request().empty()) {
      if (!peer.send(answer)) return;
    }
  };
}

inline int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

}  // namespace smg::test
