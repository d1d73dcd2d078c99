#include "orders.hpp"

#include <sstream>
#include <utility>

namespace puppet {
namespace {

// False and nothing done if a figure is unknown or no number.
bool read_record(std::istringstream& words, smg_rank_load& rank) {
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string key = word.substr(0, equals);
    uint32_t value = 0;
    if (!(std::istringstream(word.substr(equals + 1)) >> value)) return false;
    if (key == "waiting") {
      rank.waiting_requests = static_cast<int32_t>(value);
    } else if (key == "silence_ms") {
      rank.engine_silence_ms = value;
      rank.present |= SMG_LOAD_ENGINE_SILENCE;
    } else if (key == "steps") {
      rank.reports_steps = value;
      rank.present |= SMG_LOAD_REPORTS_STEPS;
    } else if (key == "pending") {
      rank.prefill_pending_tokens = value;
      rank.present |= SMG_LOAD_PREFILL_PENDING;
    } else {
      return false;
    }
  }
  return true;
}

bool push_record(std::istringstream& words, uint64_t worker, const smg::Fleet& fleet) {
  smg_rank_load rank{};
  rank.struct_size = sizeof rank;
  if (!read_record(words, rank)) return false;
  smg_load_report report{};
  report.struct_size = sizeof report;
  report.ranks = &rank;
  report.rank_count = 1;
  report.rank_stride = sizeof rank;
  report.pushed = 1;
  fleet.report(worker, report);
  return true;
}

bool set(std::istringstream& words, std::atomic<bool>& what) {
  std::string value;
  words >> value;
  what = value == "on";
  return value == "on" || value == "off";
}

bool carry_out(const std::string& verb, std::istringstream& words, Engine& engine,
               const smg::Fleet& fleet, Streams& streams) {
  const uint64_t worker = engine.worker;
  if (verb == "report") return push_record(words, worker, fleet);
  if (verb == "broken") return set(words, engine.broken);
  if (verb == "unwell") return set(words, engine.unwell);
  if (verb == "contact") return fleet.contact(worker), true;
  if (verb == "pour") return streams.drive(engine.url, Streams::Step::pour), true;
  if (verb == "finish") return streams.drive(engine.url, Streams::Step::finish), true;
  if (verb == "connection_failed") {
    std::string channel;
    words >> channel;
    return fleet.connection_failed(worker, channel, "as told"), !channel.empty();
  }
  int32_t number = 0;
  if (!(words >> number)) return false;
  if (verb == "tracked_load") return fleet.tracked_load(worker, number), true;
  if (verb == "prefill_pending") return fleet.prefill_pending(worker, number), true;
  if (number < 0) return false;
  const auto tokens = static_cast<uint64_t>(number);
  if (verb == "progress") return fleet.progress(worker, tokens), true;
  if (verb == "first_response") return fleet.first_response(worker, tokens), true;
  return false;
}

}  // namespace

std::string obey(std::string_view order, Engine& engine, const smg::Fleet& fleet,
                 Streams& streams) {
  std::istringstream words{std::string(order)};
  std::string verb;
  words >> verb;
  if (carry_out(verb, words, engine, fleet, streams)) return "ok";
  return "no such order: " + std::string(order);
}

}  // namespace puppet
