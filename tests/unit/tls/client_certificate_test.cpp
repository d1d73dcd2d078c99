// Client certificates: asked for, never required, and what is thought of them.
#include "fixture.hpp"

using namespace smg::test;

namespace {

smg::Tls asking_files(const std::string& authority = "ca") {
  smg::Tls files = files_of("a");
  files.client_ca_path = certificates().certificate(authority);
  return files;
}

struct Asking : Fixture {
  Asking() : Fixture(asking_files()) {}
};

bool verified(const smg::ServerTls& tls, const std::string& certificate, int version) {
  Line line(&tls, certificate);
  SSL_set_max_proto_version(line.client.ssl(), version);
  REQUIRE(line.connect());
  line.client.write("hello");
  line.client.speak();
  CHECK(line.hear() == "hello");
  return line.channel.verified_client();
}

// The session of a connection, after it.
std::shared_ptr<SSL_SESSION> session_of(const smg::ServerTls& tls, const std::string& certificate) {
  Line line(&tls, certificate);
  REQUIRE(line.connect());
  REQUIRE(line.client.session != nullptr);
  return line.client.session;
}

struct Resumed {
  bool reused, verified;
  bool operator==(const Resumed&) const = default;
};

Resumed resume(const smg::ServerTls& tls, SSL_SESSION* session, const std::string& certificate) {
  Line line(&tls, certificate);
  SSL_set_session(line.client.ssl(), session);
  REQUIRE(line.connect());
  return {SSL_session_reused(line.client.ssl()) == 1, line.channel.verified_client()};
}

}  // namespace

TEST_CASE_FIXTURE(Asking, "a certificate that the authority signed is verified, no other is") {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    CHECK(verified(*tls, "client", version));
    CHECK_FALSE(verified(*tls, "stranger", version));
    CHECK_FALSE(verified(*tls, "expired", version));
    CHECK_FALSE(verified(*tls, "", version));
  }
  CHECK(handshakes("failure") == 0);
}

TEST_CASE_FIXTURE(Fixture, "where no certificate is asked for, none is verified") {
  CHECK_FALSE(verified(*tls, "client", TLS1_3_VERSION));
}

TEST_CASE_FIXTURE(Asking, "before the handshake nobody is verified") {
  Line line(tls.get(), "client");
  CHECK_FALSE(line.channel.verified_client());
}

TEST_CASE_FIXTURE(Asking, "a resumed connection is what the first one was") {
  CHECK(resume(*tls, session_of(*tls, "client").get(), "client") == Resumed{true, true});
  CHECK(resume(*tls, session_of(*tls, "stranger").get(), "stranger") == Resumed{true, false});
  CHECK(resume(*tls, session_of(*tls, "").get(), "") == Resumed{true, false});
}

TEST_CASE_FIXTURE(Asking,
                  "a ticket of somebody without a certificate does not become better with one") {
  CHECK(resume(*tls, session_of(*tls, "").get(), "client") == Resumed{true, false});
}
