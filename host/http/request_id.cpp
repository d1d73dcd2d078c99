#include "host/http/request_id.hpp"

#include "host/base/views.hpp"
#include "host/http/routes.hpp"

namespace smg {

void choose_request_id(std::string& out, std::span<const http1::Field> fields,
                       const std::vector<std::string>& names, std::string_view path,
                       Random& random) {
  for (const auto& name : names) {
    for (const auto& field : fields) {
      if (!equals_ignoring_case(field.name, name)) continue;
      bool printable = true;
      for (const char c : field.value) printable = printable && c >= 0x20 && c < 0x7f;
      if (printable) {
        out += field.value;
        return;
      }
    }
  }
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  out += request_id_prefix(path);
  for (int word = 0; word < 3; ++word) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 8; ++i) {
      out += kAlphabet[bits % 62];
      bits /= 62;
    }
  }
}

}  // namespace smg
