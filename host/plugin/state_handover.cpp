#include "host/plugin/state_handover.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "host/base/views.hpp"
#include "host/metrics/utf8.hpp"
#include "smg/handover.h"

namespace smg {
namespace {

constexpr std::uint64_t kMaxState = std::uint64_t{2} << 30;

const smg_state_handover* offered_by(const PluginInstance& instance) {
  const auto extension = instance.plugin().descriptor.extension;
  if (extension == nullptr) return nullptr;
  const auto* const offer =
      static_cast<const smg_state_handover*>(extension(SMG_EXTENSION_STATE_HANDOVER));
  const bool whole = offer != nullptr && offer->struct_size >= sizeof(smg_state_handover) &&
                     offer->export_state != nullptr && offer->import_state != nullptr;
  return whole ? offer : nullptr;
}

smg_status write(const smg_state_writer* writer, const void* data, std::uint64_t size) noexcept {
  auto& state = *static_cast<std::string*>(writer->context);
  if (size > kMaxState - state.size()) return SMG_E_LIMIT;
  try {
    state.append(static_cast<const char*>(data), size);
  } catch (const std::exception&) {
    return SMG_E_LIMIT;
  }
  return SMG_OK;
}

// What `call(error)` says: empty if it is content.
template <class Call>
std::string attempt(Call call) {
  std::array<char, 512> room{};
  smg_error error{room.data(), room.size(), 0};
  try {
    const smg_status status = call(&error);
    if (status == SMG_OK) return {};
    const std::string said =
        valid_utf8({room.data(), std::min<std::size_t>(room.size(), error.size)});
    return said.empty() ? "status " + std::to_string(status) + " without a reason" : said;
  } catch (const std::exception& exception) {
    return std::string("it threw an exception, which no plugin may: ") + exception.what();
  } catch (...) {
    return "it threw an exception, which no plugin may";
  }
}

}  // namespace

std::string hand_over_state(const PluginInstance& before, const PluginInstance& after) {
  const smg_state_handover* from = nullptr;
  const smg_state_handover* to = nullptr;
  if (auto problem = attempt([&](smg_error*) {
        from = offered_by(before);
        to = offered_by(after);
        return SMG_OK;
      });
      !problem.empty()) {
    return problem;
  }
  if (from == nullptr && to == nullptr) return std::string(kNoHandover);
  if (from == nullptr) return "the version before does not hand anything over";
  if (to == nullptr) return "the new version does not take anything over";
  std::string state;
  smg_state_writer writer{};
  writer.struct_size = sizeof writer;
  writer.context = &state;
  writer.write = write;
  std::string problem =
      attempt([&](smg_error* error) { return from->export_state(before.self(), &writer, error); });
  if (!problem.empty()) return "the version before could not write it: " + problem;
  return attempt([&](smg_error* error) {
    return to->import_state(after.self(), from->format, view(state), error);
  });
}

}  // namespace smg
