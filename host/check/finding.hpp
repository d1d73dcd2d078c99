// What became of one rule.
#pragma once

#include <string>
#include <utility>

namespace smg::check {

struct Finding {
  enum class Kind { ok, failed, skipped };

  Kind kind = Kind::ok;
  std::string text;    // what was seen, or why it was skipped
  std::string advice;  // what to do about a failure

  bool failed() const { return kind == Kind::failed; }
};

inline Finding passed(std::string text) {
  return {Finding::Kind::ok, std::move(text), {}};
}
inline Finding broken(std::string text, std::string advice) {
  return {Finding::Kind::failed, std::move(text), std::move(advice)};
}
inline Finding skipped(std::string text) {
  return {Finding::Kind::skipped, std::move(text), {}};
}

}  // namespace smg::check
