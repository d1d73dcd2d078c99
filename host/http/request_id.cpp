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
      bool printable = !field.value.empty();
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
  char letters[24];
  for (int at = 0; at < 24; at += 4) {
    // A 32-bit fraction times 62: the whole part is a letter, the rest goes on. 62^4 is far below
    // 2^32.
    std::uint64_t fraction = random.next() >> 32;
    for (int i = 0; i < 4; ++i) {
      fraction *= 62;
      letters[at + i] = kAlphabet[fraction >> 32];
      fraction &= 0xffffffffu;
    }
  }
  out.append(letters, sizeof letters);
}

}  // namespace smg
