#include "host/config/worker_url.hpp"

#include <doctest/doctest.h>

namespace smg {
namespace {

TEST_CASE("a worker's URL is taken apart") {
  struct Case {
    const char* text;
    WorkerUrl url;
  };
  const Case cases[] = {
      {"http://h", {"http://h", "http", "h", 80, ""}},
      {"http://h/", {"http://h", "http", "h", 80, ""}},
      {"https://h", {"https://h", "https", "h", 443, ""}},
      {"grpc://h:50051", {"grpc://h:50051", "grpc", "h", 50051, ""}},
      {"grpcs://h", {"grpcs://h", "grpcs", "h", 443, ""}},
      {"http://Host.Example:65535/a/b//",
       {"http://Host.Example:65535/a/b", "http", "host.example", 65535, "/a/b"}},
      {"http://10.0.0.1:1", {"http://10.0.0.1:1", "http", "10.0.0.1", 1, ""}},
      {"http://[2001:DB8::1]:9", {"http://[2001:DB8::1]:9", "http", "2001:db8::1", 9, ""}},
      {"http://[::1]", {"http://[::1]", "http", "::1", 80, ""}},
      {"http://h/a%20b", {"http://h/a%20b", "http", "h", 80, "/a%20b"}},
      {"acme-2.x+y://h", {"acme-2.x+y://h", "acme-2.x+y", "h", 0, ""}},
      {"acme://h:7070/a", {"acme://h:7070/a", "acme", "h", 7070, "/a"}},
      {"ipc:///run/engine.sock", {"ipc:///run/engine.sock", "ipc", "", 0, "/run/engine.sock"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    std::string reason;
    const auto url = parse_worker_url(c.text, reason);
    REQUIRE_MESSAGE(url, reason);
    CHECK(*url == c.url);
  }
}

TEST_CASE("what is no worker's URL is refused with a reason") {
  const char* cases[] = {"",
                         "h:8000",
                         "HTTP://h",
                         "://h",
                         "1a://h",
                         "a_b://h",
                         "http:/h",
                         "http://",
                         "http:///path",
                         "http://h:",
                         "http://h:0",
                         "http://h:65536",
                         "http://h:99999999999",
                         "http://h:8o",
                         "http://h:-1",
                         "http://a b",
                         "http://h\n",
                         "http://h\xc3\xa4",
                         "http://u:p@h",
                         "http://h?x=1",
                         "http://h#x",
                         "http://.h",
                         "http://a..b",
                         "http://a_b!",
                         "http://1.2.3.999",
                         "http://1.2.3",
                         "http://12345",
                         "http://[::1",
                         "http://[]",
                         "http://[1.2.3.4]",
                         "http://[::1]x",
                         "http://[fe80::1%25eth0]",
                         "http://h/a%2",
                         "http://h/a%zz",
                         "http://h/<a>",
                         "ipc://"};
  for (const char* text : cases) {
    CAPTURE(text);
    std::string reason;
    CHECK_FALSE(parse_worker_url(text, reason));
    CHECK_FALSE(reason.empty());
  }
  std::string reason;
  CHECK_FALSE(parse_worker_url("http://h/" + std::string(2048, 'a'), reason));
  CHECK(reason == "is longer than 2048 characters");
}

TEST_CASE("schemes that the gateway knows by itself are told from those of plugins") {
  for (const char* scheme : {"http", "https", "grpc", "grpcs", "ipc"}) {
    CHECK(is_common_scheme(scheme));
  }
  for (const char* scheme : {"acme", "ftp", "HTTP", ""}) CHECK_FALSE(is_common_scheme(scheme));
}

TEST_CASE("endpoints are compared by where they lead") {
  std::string reason;
  const auto same = [&](const char* a, const char* b) {
    return endpoint_key(*parse_worker_url(a, reason)) == endpoint_key(*parse_worker_url(b, reason));
  };
  CHECK(same("http://h", "http://H:80/"));
  CHECK_FALSE(same("http://h", "https://h"));
  CHECK_FALSE(same("http://h:1", "http://h:2"));
  CHECK_FALSE(same("http://h/a", "http://h/b"));
  CHECK_FALSE(same("ipc:///a", "ipc:///b"));
}

TEST_CASE("credentials are hidden before a URL is shown") {
  CHECK(printable_url("http://u:p@h:1/x@y") == "http://***@h:1/x@y");
  CHECK(printable_url("http://u:p@ss@h:1/x@y") == "http://***@h:1/x@y");
  CHECK(printable_url("u:p@h") == "***@h");
  CHECK(printable_url("http://h/a@b") == "http://h/a@b");
  CHECK(printable_url("http://h") == "http://h");
}

}  // namespace
}  // namespace smg
