// Failure inside a plugin is an exception, outside it is a status and a text: guard() stands
// between.
//
// Throw smg::Error with a sentence that names the thing, its value and what would be right.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "smg/abi.h"

namespace smg {

class Error : public std::runtime_error {
 public:
  Error(smg_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  smg_status status() const { return status_; }

 private:
  smg_status status_;
};

// Writes `text` where the caller wants it, cut to the room there is. `error` may be null.
inline void set_error(smg_error* error, std::string_view text) {
  if (error == nullptr) return;
  const std::size_t size = std::min<std::size_t>(text.size(), error->capacity);
  std::copy_n(text.data(), size, error->text);
  error->size = size;
}

// Runs `body`, which returns an smg_status, and turns whatever it throws into a status and a text.
template <class Body>
smg_status guard(smg_error* error, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& e) {
    set_error(error, e.what());
    return e.status();
  } catch (const std::bad_alloc&) {
    set_error(error, "out of memory");
  } catch (const std::exception& e) {
    set_error(error, e.what());
  } catch (...) {
    set_error(error, "an exception that is no std::exception");
  }
  return SMG_E_INTERNAL;
}

}  // namespace smg
