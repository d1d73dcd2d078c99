#include "certificates.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace smg::test {
namespace {

void shell(const std::string& command) {
  if (std::system((command + " 2>/dev/null").c_str()) != 0) {
    throw std::runtime_error("failed: " + command);
  }
}

const std::string kKey = " -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

}  // namespace

Certificates::Certificates() {
  add_authority("ca");
}

void Certificates::add_authority(const std::string& name) const {
  shell("openssl req -x509" + kKey + " -days 2 -subj '/CN=test authority " + name + "' -keyout " +
        key(name) + " -out " + certificate(name));
}

void Certificates::issue(const std::string& name, const std::string& subject, int days,
                         const std::string& authority) const {
  const std::string base = directory_ / name;
  std::ofstream(base + ".ext") << "subjectAltName=" << subject << "\n";
  shell("openssl req -new" + kKey + " -subj '/CN=" + name + "' -keyout " + key(name) + " -out " +
        base + ".csr");
  shell("openssl x509 -req -in " + base + ".csr -CA " + certificate(authority) + " -CAkey " +
        key(authority) + " -CAcreateserial -days " + std::to_string(days) + " -extfile " + base +
        ".ext -out " + certificate(name));
}

SSL_CTX* Certificates::server(const std::string& name) const {
  const std::string base = directory_ / name;
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context, (base + ".pem").c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, (base + ".key").c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("cannot use " + base);
  }
  return context;
}

}  // namespace smg::test
