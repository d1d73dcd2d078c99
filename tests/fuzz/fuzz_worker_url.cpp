// Any bytes as a worker's URL: one that is taken means the same when it is read again, and what
// messages show of one that is refused has no credentials in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/config/worker_url.hpp"
#include "require.hpp"

using smg::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static std::string reason;
  reason.clear();
  const auto url = smg::parse_worker_url(text, reason);
  require(url.has_value() == reason.empty(), "a URL or a reason");

  const std::string shown = smg::printable_url(text);
  const std::size_t begin = shown.find("://") + 3;
  if (begin >= 3) {
    const std::string_view authority =
        std::string_view(shown).substr(begin, shown.find('/', begin) - begin);
    const std::size_t at = authority.rfind('@');
    require(at == authority.npos || authority.substr(0, at) == "***", "no credentials are shown");
  }
  if (!url) return 0;

  require(text.size() <= 2048 && text.starts_with(url->text), "it is what was given");
  require(url->text.find_first_of(" \t\r\n") == std::string::npos, "it has no blanks");
  const auto again = smg::parse_worker_url(url->text, reason);
  require(again == url, "it means the same when read again");
  require(smg::endpoint_key(*again) == smg::endpoint_key(*url), "and leads to the same place");
  if (url->scheme == "ipc") {
    require(!url->base_path.empty(), "a socket has a path");
    return 0;
  }
  require(!url->host.empty() && url->host.find_first_of("@/?#") == std::string::npos,
          "a host without credentials");
  require(url->base_path.empty() || (url->base_path[0] == '/' && url->base_path.back() != '/'),
          "a path without the slash at its end");
  require(url->port != 0 || !smg::is_common_scheme(url->scheme), "a port");
  return 0;
}
