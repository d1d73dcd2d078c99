// The defaults of cache_aware's descriptor, as the host would give them to an instance.
#pragma once

#include <string>

#include "fake_host.hpp"
#include "settings.hpp"

namespace smg::test {

inline void set_defaults(FakeHost& host, bool of_a_label = false) {
  for (const smg_option& option : cache_aware::kOptions) {
    const smg_view given =
        of_a_label && option.label_default.size > 0 ? option.label_default : option.default_value;
    const std::string name(option.name.data, option.name.size);
    const std::string value(given.data, given.size);
    if (option.type == SMG_OPTION_INT) {
      host.ints[name] = std::stoll(value);
    } else if (option.type == SMG_OPTION_FLOAT) {
      host.floats[name] = std::stod(value);
    } else {
      host.strings[name] = value.substr(1, value.size() - 2);  // without the quotes
    }
  }
}

}  // namespace smg::test
