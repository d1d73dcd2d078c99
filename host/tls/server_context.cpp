#include "host/tls/server_context.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace smg {
namespace {

constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2; those of 1.3 are all good
constexpr unsigned char kSessionContext[] = "smg";
constexpr long kTicketLifetime = 3600;  // s

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (const char* reason = ERR_reason_error_string(code); reason != nullptr) return reason;
  return "it is not what it should be";
}

// An entry of the file list that cannot be used, in words.
std::string refused(std::string_view key, const std::string& path, const std::string& reason,
                    std::string_view wanted) {
  return "tls." + std::string(key) + " = \"" + path + "\": " + reason + "; it must name " +
         std::string(wanted);
}

// Empty: it can be read.
std::string unreadable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::strerror(errno);
  if (!S_ISREG(info.st_mode)) return "is no regular file";
  return ::access(path.c_str(), R_OK) == 0 ? "" : std::strerror(errno);
}

// A key that needs a password is refused; OpenSSL would ask for it at the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  unsigned char* out = nullptr;
  // A client that speaks other protocols only is told so.
  if (SSL_select_next_proto(&out, size, kProtocols, sizeof kProtocols - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = out;
  return SSL_TLSEXT_ERR_OK;
}

// Whatever a client shows does not end the handshake: what it is good for is decided by route.
int note_verdict(X509_STORE_CTX* store, void*) {
  if (X509_verify_cert(store) <= 0 && X509_STORE_CTX_get_error(store) == X509_V_OK) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED);
  }
  return 1;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets only
  SSL_CTX_set_session_id_context(context, kSessionContext, sizeof kSessionContext - 1);
  SSL_CTX_set_timeout(context, kTicketLifetime);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, no_password);
}

std::time_t seconds(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

std::string load_pair(SSL_CTX* context, const Tls& files) {
  static constexpr std::string_view kChain = "a readable PEM file with the listener's certificates";
  static constexpr std::string_view kKey =
      "a readable PEM file with the key of the certificate, without a password";
  const auto no_cert = [&](const std::string& reason) {
    return refused("cert_path", files.cert_path, reason, kChain);
  };
  const auto no_key = [&](const std::string& reason) {
    return refused("key_path", files.key_path, reason, kKey);
  };
  if (const auto problem = unreadable(files.cert_path); !problem.empty()) return no_cert(problem);
  if (const auto problem = unreadable(files.key_path); !problem.empty()) return no_key(problem);
  if (SSL_CTX_use_certificate_chain_file(context, files.cert_path.c_str()) != 1) {
    return no_cert(openssl_reason());
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key_path.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return no_key(openssl_reason());
  }
  return {};
}

std::string load_client_ca(SSL_CTX* context, const std::string& path) {
  const auto no_ca = [&](const std::string& reason) {
    return refused("client_ca_path", path, reason,
                   "a readable PEM file with the authorities of client certificates");
  };
  if (const auto problem = unreadable(path); !problem.empty()) return no_ca(problem);
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(path.c_str());
  if (names == nullptr) return no_ca(openssl_reason());
  SSL_CTX_set_client_CA_list(context, names);
  if (SSL_CTX_load_verify_file(context, path.c_str()) != 1) return no_ca(openssl_reason());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, note_verdict, nullptr);
  return {};
}

}  // namespace

ServerContext make_server_context(const Tls& files) {
  ServerContext made;
  ERR_clear_error();
  made.context.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* context = made.context.get();
  if (context == nullptr) {
    made.error = "TLS cannot be set up: " + openssl_reason();
    return made;
  }
  set_rules(context);
  made.error = load_pair(context, files);
  if (made.error.empty() && !files.client_ca_path.empty()) {
    made.error = load_client_ca(context, files.client_ca_path);
  }
  if (!made.error.empty()) {
    made.context.reset();
    return made;
  }
  const X509* certificate = SSL_CTX_get0_certificate(context);
  made.not_before = seconds(X509_get0_notBefore(certificate));
  made.not_after = seconds(X509_get0_notAfter(certificate));
  ERR_clear_error();
  return made;
}

void keep_ticket_keys(SSL_CTX* from, SSL_CTX* to) {
  std::array<unsigned char, 256> keys{};
  const long size = SSL_CTX_get_tlsext_ticket_keys(from, nullptr, 0);
  if (size <= 0 || static_cast<std::size_t>(size) > keys.size()) return;
  SSL_CTX_get_tlsext_ticket_keys(from, keys.data(), size);
  SSL_CTX_set_tlsext_ticket_keys(to, keys.data(), size);
  OPENSSL_cleanse(keys.data(), keys.size());
}

}  // namespace smg
