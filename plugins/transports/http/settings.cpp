#include "settings.hpp"

#include <algorithm>

#include "smg/cpp/options.hpp"

namespace smg::http {
namespace {

constexpr smg_option option(uint32_t type, std::string_view name, std::string_view value,
                            std::string_view help, double minimum = 1, double maximum = 0,
                            std::string_view flag = {}) {
  smg_option result{};
  result.struct_size = sizeof(smg_option);
  result.type = type;
  result.name = view(name);
  result.default_value = view(value);
  result.help = view(help);
  result.minimum = minimum;
  result.maximum = maximum;
  result.flag = view(flag);
  return result;
}

constexpr smg_option kOptions[] = {
    option(SMG_OPTION_INT, "connect_timeout_secs", "10",
           "How long a connection may take to come about, TLS handshake included", 1, 3600),
    option(SMG_OPTION_INT, "idle_timeout_secs", "3",
           "How long an unused connection is kept; 0 keeps it for good", 0, 86400,
           "upstream-pool-idle-timeout-secs"),
    option(SMG_OPTION_INT, "max_idle_per_worker", "500",
           "How many unused connections are kept per worker, over all loops", 0, 1000000),
    option(SMG_OPTION_STRING, "ca_file", "",
           "PEM file of the authorities that workers' certificates are checked against"),
    option(SMG_OPTION_STRING, "ca_path", "",
           "Directory of such authorities, one hashed PEM file each"),
    option(SMG_OPTION_BOOL, "insecure_skip_verify", "false",
           "Accept any certificate from https workers: for tests only"),
    option(SMG_OPTION_STRING, "client_cert", "",
           "PEM file of the certificate chain shown to workers that ask for one"),
    option(SMG_OPTION_STRING, "client_key", "", "PEM file of the private key of client_cert"),
};

}  // namespace

std::span<const smg_option> option_table() {
  return kOptions;
}

TlsSettings TlsSettings::for_worker(const smg_worker& worker) const {
  TlsSettings settings = *this;
  if (!SMG_HAS(&worker, tls) || worker.tls == nullptr) return settings;
  const smg_worker_tls& own = *worker.tls;
  if (own.ca_file_count > 0) {
    settings.ca_files.clear();
    for (uint32_t i = 0; i < own.ca_file_count; ++i) {
      settings.ca_files.emplace_back(text(own.ca_files[i]));
    }
    settings.ca_path.clear();
    settings.insecure = false;
  }
  if (own.client_cert.size > 0) {
    settings.client_cert = text(own.client_cert);
    settings.client_key = text(own.client_key);
  }
  return settings;
}

Settings read_settings(Host host, uint32_t loops) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const Options options(host);
  const auto path = [&](std::string_view name) {
    return std::string(options.find_string(name).value_or(""));
  };
  Settings settings;
  settings.connect_timeout =
      static_cast<uint64_t>(options.get_int("connect_timeout_secs")) * kSecond;
  settings.idle_timeout = static_cast<uint64_t>(options.get_int("idle_timeout_secs")) * kSecond;
  const auto idle = static_cast<uint32_t>(options.get_int("max_idle_per_worker"));
  const uint32_t data_loops = std::max(1u, loops - 1);
  settings.idle_limit = (idle + data_loops - 1) / data_loops;
  if (std::string file = path("ca_file"); !file.empty()) {
    settings.tls.ca_files.push_back(std::move(file));
  }
  settings.tls.ca_path = path("ca_path");
  settings.tls.client_cert = path("client_cert");
  settings.tls.client_key = path("client_key");
  settings.tls.insecure = options.get_bool("insecure_skip_verify");
  if (settings.tls.client_cert.empty() != settings.tls.client_key.empty()) {
    throw Error(SMG_E_INVALID,
                "options `client_cert` and `client_key` go together: set both or none");
  }
  return settings;
}

}  // namespace smg::http
