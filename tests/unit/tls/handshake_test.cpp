// How a connection begins: what is agreed on, and with whom it is not.
#include "fixture.hpp"

using namespace smg::test;
using State = smg::Channel::State;

namespace {

bool connects(const smg::ServerTls& tls, const std::function<void(SSL*)>& prepare) {
  Line line(&tls);
  prepare(line.client.ssl());
  return line.connect();
}

std::string agreed_protocol(const smg::ServerTls& tls, std::string_view offered) {
  Line line(&tls);
  SSL_set_alpn_protos(line.client.ssl(), reinterpret_cast<const unsigned char*>(offered.data()),
                      static_cast<unsigned>(offered.size()));
  if (!line.connect()) return "refused";
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(line.client.ssl(), &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

// What becomes of a connection whose first bytes are these.
State answer_to(const smg::ServerTls& tls, std::string_view bytes) {
  Line line(&tls);
  REQUIRE(send(line.client.fd(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  smg::Channel::Outcome last{};
  line.hear(16384, &last);
  return last.state;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "TLS 1.2 and 1.3 are spoken, nothing older") {
  const auto version = [](int only) {
    return [only](SSL* ssl) {
      SSL_set_security_level(ssl, 0);
      SSL_set_min_proto_version(ssl, only);
      SSL_set_max_proto_version(ssl, only);
    };
  };
  CHECK(connects(*tls, version(TLS1_3_VERSION)));
  CHECK(connects(*tls, version(TLS1_2_VERSION)));
  CHECK_FALSE(connects(*tls, version(TLS1_1_VERSION)));
  CHECK_FALSE(connects(*tls, version(TLS1_VERSION)));
  CHECK(handshakes("success") == 2);
  CHECK(handshakes("failure") == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "with TLS 1.2 only ciphers with forward secrecy and authentication pass") {
  const auto cipher = [](const char* name) {
    return [name](SSL* ssl) {
      SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
      SSL_set_cipher_list(ssl, name);
    };
  };
  CHECK(connects(*tls, cipher("ECDHE-ECDSA-AES128-GCM-SHA256")));
  CHECK_FALSE(connects(*tls, cipher("ECDHE-ECDSA-AES128-SHA256")));
  CHECK_FALSE(connects(*tls, cipher("ECDHE-ECDSA-AES256-SHA")));
}

TEST_CASE_FIXTURE(Fixture, "HTTP/1.1 is what is agreed on; who speaks HTTP/2 alone is refused") {
  CHECK(agreed_protocol(*tls, "\x08http/1.1") == "http/1.1");
  CHECK(agreed_protocol(*tls, std::string_view("\x02h2\x08http/1.1")) == "http/1.1");
  CHECK(agreed_protocol(*tls, std::string_view("\x02h2")) == "refused");
  CHECK(agreed_protocol(*tls, "") == "");
}

TEST_CASE_FIXTURE(Fixture, "a handshake whose bytes come one by one is as good as any") {
  Line line(tls.get());
  std::array<char, 64> room;
  int steps = 0;
  while (!line.client.handshake() || line.channel.handshaking()) {
    if (line.client.speak(1) == 0) line.client.listen();
    CHECK(line.channel.read(room.data(), room.size()).state == State::blocked);
    REQUIRE(++steps < 10'000);
  }
  CHECK(steps > 200);
  line.client.write("hello");
  std::string heard;
  while (line.client.speak(1) == 1) {
    const auto outcome = line.channel.read(room.data(), room.size());
    if (outcome.state == State::moved) heard.append(room.data(), outcome.bytes);
  }
  CHECK(heard == "hello");
}

TEST_CASE_FIXTURE(Fixture, "before the handshake nothing can be written, after it everything") {
  Line line(tls.get());
  CHECK(line.channel.handshaking());
  CHECK(line.channel.write("early").state == State::blocked);
  REQUIRE(line.connect());
  CHECK_FALSE(line.channel.handshaking());
  CHECK(line.channel.write("now").bytes == 3);
  line.client.listen();
  CHECK(line.client.read() == "now");
}

TEST_CASE_FIXTURE(Fixture, "garbage ends the connection, whatever it is") {
  CHECK(answer_to(*tls, std::string(64, '\0')) == State::failed);
  CHECK(answer_to(*tls, std::string("\x16\x03\x01\xff\xff", 5) + std::string(600, 'x')) ==
        State::failed);
  CHECK(answer_to(*tls, std::string("\x16\x03\x01\x00\x04", 5) + "abcd") == State::failed);
  CHECK(answer_to(*tls, "\xff\xfe\xfd\xfc\xfb\xfa") == State::failed);
  CHECK(answer_to(*tls, "ssh-2.0\r\n") == State::failed);
  CHECK(handshakes("failure") == 5);
}

TEST_CASE_FIXTURE(Fixture,
                  "half a greeting is waited for, and no failure until the connection goes") {
  CHECK(answer_to(*tls, std::string("\x16\x03\x01\x02\x00\x01", 6)) == State::blocked);
  CHECK(handshakes("failure") == 1);
}

TEST_CASE_FIXTURE(Fixture, "who only looks whether the port is open is no failure") {
  {
    Line line(tls.get());
    line.hang_up();
    smg::Channel::Outcome last{};
    line.hear(64, &last);
    CHECK(last.state == State::closed);
  }
  CHECK(handshakes("failure") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a request without TLS is noticed, and can be answered without") {
  for (const char* start : {"GET / HTTP/1.1\r\n", "DELETE /x", "P"}) {
    Line line(tls.get());
    REQUIRE(send(line.client.fd(), start, strlen(start), 0) > 0);
    smg::Channel::Outcome last{};
    line.hear(64, &last);
    CHECK(last.state == State::plain_http);
    CHECK_FALSE(line.channel.is_tls());
    CHECK(line.channel.write("HTTP/1.1 ", "400 ").bytes == 13);
    char room[32] = {};
    CHECK(recv(line.client.fd(), room, sizeof room, 0) == 13);
    CHECK(std::string_view(room) == "HTTP/1.1 400 ");
  }
  CHECK(handshakes("failure") == 0);
}

TEST_CASE_FIXTURE(Fixture, "a client may not renegotiate") {
  Line line(tls.get());
  SSL_set_max_proto_version(line.client.ssl(), TLS1_2_VERSION);
  REQUIRE(line.connect());
  SSL_renegotiate(line.client.ssl());
  line.client.handshake();
  line.client.speak();
  smg::Channel::Outcome last{};
  CHECK(line.hear(64, &last).empty());
  line.client.listen();
  CHECK_FALSE(line.client.handshake());
  CHECK(handshakes("success") == 1);
}

TEST_CASE("a chain that the socket has no room for is sent when there is room, by reading on") {
  const Certificates& all = certificates();
  smg::Tls files = files_of("a");
  files.cert_path = all.directory() + "/long.pem";
  // What follows the certificate is sent as it is; a client passes over what it has no use for.
  std::string command = "cp " + all.certificate("a") + " " + files.cert_path;
  for (int i = 0; i < 40; ++i)
    command += " && cat " + all.certificate("b") + " >>" + files.cert_path;
  REQUIRE(std::system(command.c_str()) == 0);
  Fixture fixture(files);
  Line line(fixture.tls.get());
  line.client.handshake();
  line.client.speak();
  line.shrink();
  std::array<char, 64> room;
  CHECK(line.channel.read(room.data(), room.size()).state == State::blocked);
  CHECK(line.channel.read_wants_room());
  CHECK(line.connect());
  CHECK_FALSE(line.channel.read_wants_room());
}
