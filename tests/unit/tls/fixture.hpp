// Both ends of a TLS connection on one thread: the gateway's Channel on one end of a socket pair, a
// client of OpenSSL's own at the other, whose bytes pass through the test's hands.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "certificates.hpp"
#include "host/http/channel.hpp"
#include "host/metrics/families.hpp"
#include "host/tls/server_tls.hpp"

namespace smg::test {

// ca and other sign; a and b are the gateway's, client, expired and stranger its clients'.
inline const Certificates& certificates() {
  static const Certificates all;
  static const bool issued = [] {
    all.add_authority("other");
    all.issue("a", "DNS:a.test");
    all.issue("b", "DNS:b.test");
    all.issue("old", "DNS:old.test", -1);
    all.issue("client", "DNS:client.test");
    all.issue("expired", "DNS:client.test", -1);
    all.issue("stranger", "DNS:client.test", 2, "other");
    return true;
  }();
  static_cast<void>(issued);
  return all;
}

inline Tls files_of(const std::string& name) {
  return {certificates().certificate(name), certificates().key(name), {}};
}

struct Gauges {
  Metrics metrics{{.loops = 1}};
  Families families{metrics};

  double handshakes(std::string_view result) {
    return families.http_tls_handshakes.with({result}).value();
  }
  double reloads(std::string_view result) {
    return families.tls_certificate_reloads.with({result}).value();
  }
};

class Client {
 public:
  explicit Client(int fd, const std::string& certificate = {})
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), fd_(fd) {
    SSL_CTX_load_verify_file(context_.get(), certificates().authority().c_str());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    // A context makes the sessions that it keeps unusable when it goes.
    SSL_CTX_set_session_cache_mode(context_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), [](SSL* ssl, SSL_SESSION* given) {
      static_cast<Client*>(SSL_get_app_data(ssl))->session.reset(given, SSL_SESSION_free);
      return 1;
    });
    if (!certificate.empty()) {
      const Certificates& all = certificates();
      REQUIRE(SSL_CTX_use_certificate_chain_file(context_.get(),
                                                 all.certificate(certificate).c_str()) == 1);
      REQUIRE(SSL_CTX_use_PrivateKey_file(context_.get(), all.key(certificate).c_str(),
                                          SSL_FILETYPE_PEM) == 1);
    }
    ssl_.reset(SSL_new(context_.get()), SSL_free);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
  }

  // A session that did not end in order is not resumed.
  ~Client() { SSL_set_shutdown(ssl(), SSL_SENT_SHUTDOWN); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  SSL* ssl() const { return ssl_.get(); }
  int fd() const { return fd_; }

  // What it has to say, `most` bytes of it. Returns how many went.
  std::size_t speak(std::size_t most = ~std::size_t{0}) {
    char* bytes = nullptr;
    BIO* out = SSL_get_wbio(ssl());
    std::size_t sent = 0;
    while (sent < most) {
      const long waiting = BIO_get_mem_data(out, &bytes);
      const std::size_t size =
          std::min<std::size_t>(static_cast<std::size_t>(waiting), most - sent);
      if (size == 0) break;
      const ssize_t went = ::send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (went <= 0) break;
      std::string passed(static_cast<std::size_t>(went), 0);
      BIO_read(out, passed.data(), static_cast<int>(went));
      sent += static_cast<std::size_t>(went);
    }
    return sent;
  }
  // Takes in what the gateway sent. False at its end.
  bool listen() {
    std::array<char, 16384> bytes;
    for (;;) {
      const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0) return false;
      if (got < 0) return true;
      BIO_write(SSL_get_rbio(ssl()), bytes.data(), static_cast<int>(got));
    }
  }
  // Goes on with the handshake; true when it is done.
  bool handshake() {
    ERR_clear_error();
    return SSL_do_handshake(ssl()) == 1;
  }
  void write(std::string_view text) {
    REQUIRE(SSL_write(ssl(), text.data(), static_cast<int>(text.size())) ==
            static_cast<int>(text.size()));
  }
  // Everything that has come. `ended`: with a close_notify.
  std::string read(bool* ended = nullptr) {
    std::string all;
    std::array<char, 16384> bytes;
    for (;;) {
      ERR_clear_error();
      const int got = SSL_read(ssl(), bytes.data(), bytes.size());
      if (got <= 0) {
        if (ended != nullptr) *ended = SSL_get_error(ssl(), got) == SSL_ERROR_ZERO_RETURN;
        return all;
      }
      all.append(bytes.data(), static_cast<std::size_t>(got));
    }
  }
  std::string peer_name() const {
    std::array<char, 64> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl())),
                              NID_commonName, name.data(), name.size());
    return name.data();
  }

  std::shared_ptr<SSL_SESSION> session;  // the last one given

 private:
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
  int fd_;
};

// One connection.
class Line {
 public:
  explicit Line(const ServerTls* tls, const std::string& client_certificate = {})
      : pair_(make()), channel(pair_[0], tls), client(pair_[1], client_certificate) {}
  ~Line() {
    for (const int fd : pair_) {
      if (fd >= 0) close(fd);
    }
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Turns both ends until the handshake is over; false if it failed.
  bool connect() {
    std::array<char, 1024> room;
    for (int i = 0; i < 100; ++i) {
      const bool done = client.handshake();
      client.speak();
      const auto outcome = channel.read(room.data(), room.size());
      client.listen();
      if (outcome.state != Channel::State::blocked) return false;
      if (done && !channel.handshaking()) {
        client.read();  // session tickets
        return true;
      }
    }
    return false;
  }
  // Reads until nothing more is there, as a connection does. The last outcome in `last`.
  std::string hear(std::size_t room = 16384, Channel::Outcome* last = nullptr) {
    std::string all;
    std::string bytes(room, 0);
    for (;;) {
      const auto outcome = channel.read(bytes.data(), bytes.size());
      if (last != nullptr) *last = outcome;
      if (outcome.state != Channel::State::moved) return all;
      all.append(bytes, 0, outcome.bytes);
      if (outcome.drained) return all;
    }
  }
  // As little room as the system gives for what the gateway sends.
  void shrink() const {
    const int small = 1;
    setsockopt(pair_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  }
  // Bytes of no meaning, as many as the gateway's end takes.
  void fill() const {
    while (send(pair_[0], "x", 1, MSG_NOSIGNAL) == 1) {
    }
  }
  // The gateway's end goes, without a word.
  void cut() {
    close(pair_[0]);
    pair_[0] = -1;
  }
  void hang_up() {
    close(pair_[1]);
    pair_[1] = -1;
  }

 private:
  static std::array<int, 2> make() {
    std::array<int, 2> pair{-1, -1};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0);
    return pair;
  }
  std::array<int, 2> pair_;

 public:
  Channel channel;
  Client client;
};

struct Fixture : Gauges {
  explicit Fixture(const Tls& files = files_of("a")) {
    std::string error;
    tls = ServerTls::make(files, families, error);
    REQUIRE_MESSAGE(tls != nullptr, error);
  }
  std::unique_ptr<ServerTls> tls;
};

}  // namespace smg::test
