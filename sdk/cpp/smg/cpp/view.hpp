// Conversions between the ABI's views and the standard library's. Nothing is copied: a result lives
// as long as what it was made of.
#pragma once

#include <string_view>

#include "smg/abi.h"

namespace smg {

constexpr std::string_view text(smg_view view) {
  return {view.data, static_cast<std::size_t>(view.size)};
}

constexpr smg_view view(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace smg
