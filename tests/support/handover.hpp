// A plugin's state, taken and given as the host does it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "smg/handover.h"
#include "smg/plugin.h"

namespace smg::test {

// Keeps what is written, up to a limit.
class StateKeeper {
 public:
  explicit StateKeeper(std::size_t limit = std::size_t{1} << 30) : limit_(limit) {}
  StateKeeper(const StateKeeper&) = delete;
  StateKeeper& operator=(const StateKeeper&) = delete;

  const smg_state_writer& writer() const { return raw_; }
  std::string& bytes() { return bytes_; }

 private:
  static smg_status write(const smg_state_writer* writer, const void* data, std::uint64_t size) {
    auto& self = *static_cast<StateKeeper*>(writer->context);
    if (size > self.limit_ - self.bytes_.size()) return SMG_E_LIMIT;
    self.bytes_.append(static_cast<const char*>(data), size);
    return SMG_OK;
  }

  std::string bytes_;
  std::size_t limit_;
  smg_state_writer raw_{sizeof raw_, 0, this, write};
};

// nullptr: it hands nothing over.
inline const smg_state_handover* handover_of(const smg_plugin& plugin) {
  if (plugin.extension == nullptr) return nullptr;
  return static_cast<const smg_state_handover*>(plugin.extension(SMG_EXTENSION_STATE_HANDOVER));
}

struct Outcome {
  smg_status status = SMG_OK;
  std::string error;
};

inline Outcome import_state(const smg_plugin& plugin, void* self, std::string_view format,
                            std::string_view state) {
  char room[256];
  smg_error error{room, sizeof room, 0};
  const smg_status status = handover_of(plugin)->import_state(self, {format.data(), format.size()},
                                                              {state.data(), state.size()}, &error);
  return {status, std::string(error.text, error.size)};
}
inline Outcome import_state(const smg_plugin& plugin, void* self, std::string_view state) {
  const smg_view format = handover_of(plugin)->format;
  return import_state(plugin, self, {format.data, format.size}, state);
}

// The state, or nothing if that failed.
inline std::string export_state(const smg_plugin& plugin, void* self) {
  StateKeeper keeper;
  if (handover_of(plugin)->export_state(self, &keeper.writer(), nullptr) != SMG_OK) return {};
  return std::move(keeper.bytes());
}

}  // namespace smg::test
