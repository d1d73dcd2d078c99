#include "host/load/load_desk.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "host/base/views.hpp"
#include "host/fleet/describe_worker.hpp"

namespace smg {
namespace {

constexpr std::int32_t kMostRanks = 1024;
constexpr std::array<std::string_view, 3> kRoles = {"prefill", "decode", "null"};

template <class T>
void store(T& place, T value) {
  __atomic_store(&place, &value, __ATOMIC_RELAXED);
}

void show_live(smg_worker_live& live, const LoadReport& report, std::uint64_t now) {
  const LoadTotals& totals = report.totals();
  store(live.waiting_requests, totals.waiting_requests);
  store(live.running_requests, totals.running_requests);
  store(live.waiting_uncached_tokens, totals.waiting_uncached_tokens);
  store(live.token_usage, totals.token_usage);
  store(live.throughput, totals.generation_throughput);
  store(live.report_time, report.view().sample_time == 0 ? now : report.view().sample_time);
  // Who sees the new number sees the figures that came with it.
  __atomic_store_n(&live.report_sequence, live.report_sequence + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&live.report_valid, 1u, __ATOMIC_RELEASE);
}

}  // namespace

std::string_view no_report_name(std::uint32_t cause) {
  static constexpr std::string_view kNames[] = {
      "ok", "unsupported", "timeout", "connection", "error", "empty", "malformed", "gauge_missing"};
  return cause < std::size(kNames) ? kNames[cause] : "other";
}

LoadDesk::LoadDesk(Loop& control, Registry& registry, Families& families, Bus& bus,
                   const Config& config)
    : control_(control), registry_(registry), families_(families), bus_(bus), config_(config) {}

bool LoadDesk::judge(const std::shared_ptr<Worker>& worker, const LoadReport& report) {
  const bool overloaded =
      is_overloaded(report.totals(), ceilings_of(worker->description(), config_.overload));
  const bool was_overloaded = (worker->state() & SMG_STATE_OVERLOADED) != 0;
  if (!registry_.set_overloaded(*worker, overloaded)) return false;
  if (overloaded != was_overloaded) {
    spdlog::log(overloaded ? spdlog::level::warn : spdlog::level::info,
                "worker {} is {}: {} waiting requests, {:.2f} of its KV cache in use",
                worker->url(), overloaded ? "overloaded and left out" : "below its ceilings again",
                report.totals().waiting_requests, report.totals().token_usage);
  }
  return true;
}

bool LoadDesk::report(const std::shared_ptr<Worker>& worker, const LoadReport& report,
                      std::string_view source) {
  if (registry_.find(worker->view().ref) != worker) return false;
  const std::uint64_t now = control_.now();
  // It was heard of, whatever its health: only what it says of its load is asked of Ready ones.
  // Of what it pushed liveness has heard already.
  if (report.view().pushed == 0) worker->runtime()->liveness().report(now, report.evidence());
  if (!judge(worker, report)) return false;
  show_live(worker->live(), report, now);
  families_.load_reports.with({source, "ok"}).add();
  Known& known = this->known(*worker);
  show(*worker, report, known);
  if (known.reported_at == 0 || known.cause != 0) {
    spdlog::info("worker {} reports its load ({})", worker->url(), source);
  }
  known.reported_at = now;
  known.cause = 0;
  smg_event_load event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_LOAD_REPORT;
  event.event.worker_ref = worker->view().ref;
  event.event.worker_url = worker->view().url;
  event.report = report.view();
  event.source = view(source);
  bus_.publish(event.event);
  return true;
}

void LoadDesk::no_report(const std::shared_ptr<Worker>& worker, std::uint32_t cause,
                         std::string_view detail, std::string_view source) {
  families_.load_reports.with({source, no_report_name(cause)}).add();
  // No fresh signal, no opinion.
  if (!registry_.set_overloaded(*worker, false)) return;
  __atomic_store_n(&worker->live().report_valid, 0u, __ATOMIC_RELEASE);
  Known& known = this->known(*worker);
  const std::uint32_t before = known.cause;
  known.cause = cause;
  if (before != cause) {
    spdlog::warn("worker {} reports no load ({}): {}", worker->url(), no_report_name(cause),
                 detail);
  }
  smg_event_change event{};
  event.event.struct_size = sizeof event;
  event.event.type = SMG_EVENT_NO_REPORT;
  event.event.worker_ref = worker->view().ref;
  event.event.worker_url = worker->view().url;
  event.before = before;
  event.after = cause;
  event.subject = view(source);
  event.text = view(detail);
  bus_.publish(event.event);
}

void LoadDesk::reset(const std::shared_ptr<Worker>& worker) {
  registry_.set_overloaded(*worker, false);
  forget(*worker);
}

// Series cannot be taken away: -1 says that there is nothing to show.
void LoadDesk::forget(const Worker& worker) {
  __atomic_store_n(&worker.live().report_valid, 0u, __ATOMIC_RELEASE);
  const auto found = known_.find(worker.view().ref);
  std::set<std::int32_t> ranks{0};
  if (found != known_.end()) {
    for (const auto& [rank, gauges] : found->second.ranks) ranks.insert(rank);
  }
  for (const std::int32_t rank : ranks) {
    const std::string number = std::to_string(rank);
    for (const auto& model : worker.description().models) {
      for (Family* family :
           {&families_.engine_running, &families_.engine_waiting, &families_.engine_token_usage,
            &families_.engine_throughput, &families_.engine_cache_hit_rate}) {
        family->with({worker.url(), model.id, number}).set(-1);
      }
    }
    if (found == known_.end() || !found->second.disaggregated) continue;
    for (const std::string_view role : kRoles) {
      for (Family* family :
           {&families_.engine_pd_transfer_latency, &families_.engine_pd_transfer_speed,
            &families_.engine_pd_prefill_queue, &families_.engine_pd_decode_queue}) {
        family->with({worker.url(), role, number}).set(-1);
      }
    }
  }
  if (found == known_.end()) return;
  found->second.age.set(-1);
  known_.erase(found);
}

LoadDesk::Known& LoadDesk::known(const Worker& worker) {
  Known& known = known_[worker.view().ref];
  if (!known.age) known.age = families_.load_report_age.with({worker.url()});
  return known;
}

LoadDesk::Gauges LoadDesk::gauges_of(const Worker& worker, std::string_view model,
                                     std::int32_t rank) {
  const std::string number = std::to_string(rank);
  const auto of = [&](Family& family) { return family.with({worker.url(), model, number}); };
  return {of(families_.engine_running), of(families_.engine_waiting),
          of(families_.engine_token_usage), of(families_.engine_throughput),
          of(families_.engine_cache_hit_rate)};
}

void LoadDesk::show(const Worker& worker, const LoadReport& report, Known& known) {
  for (const smg_rank_load& rank : report.ranks()) {
    // Whatever an engine says, its ranks do not make series without end.
    if (rank.dp_rank < 0 || rank.dp_rank >= kMostRanks) continue;
    auto& models = known.ranks[rank.dp_rank];
    if (models.empty()) {
      for (const auto& model : worker.description().models) {
        models.push_back(gauges_of(worker, model.id, rank.dp_rank));
      }
    }
    for (const auto& [running, waiting, usage, throughput, hit_rate] : models) {
      running.set(rank.running_requests);
      waiting.set(rank.waiting_requests);
      usage.set(rank.token_usage);
      throughput.set(rank.generation_throughput);
      hit_rate.set(rank.cache_hit_rate);
    }
    const std::string_view role = text(rank.disagg_mode);
    const bool is_role = std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
    if ((rank.present & SMG_LOAD_DISAGG_MODE) == 0 || !is_role) continue;
    known.disaggregated = true;
    const std::string number = std::to_string(rank.dp_rank);
    const auto set = [&](Family& family, std::uint32_t bit, double value) {
      if ((rank.present & bit) == 0) return;
      family.with({worker.url(), role, number}).set(value);
    };
    set(families_.engine_pd_transfer_latency, SMG_LOAD_KV_TRANSFER_LATENCY,
        rank.kv_transfer_latency_ms);
    set(families_.engine_pd_transfer_speed, SMG_LOAD_KV_TRANSFER_SPEED,
        rank.kv_transfer_speed_gb_s);
    set(families_.engine_pd_prefill_queue, SMG_LOAD_PREFILL_QUEUE, rank.prefill_queue_requests);
    set(families_.engine_pd_decode_queue, SMG_LOAD_DECODE_QUEUE, rank.decode_queue_requests);
  }
}

void LoadDesk::show_ages() {
  for (const auto& [ref, known] : known_) {
    known.age.set(known.reported_at == 0
                      ? -1
                      : static_cast<double>(control_.now() - known.reported_at) / 1e9);
  }
}

}  // namespace smg
