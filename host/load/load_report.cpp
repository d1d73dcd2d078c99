#include "host/load/load_report.hpp"

#include "host/base/views.hpp"

namespace smg {
namespace {

constexpr std::size_t kLongestTimestamp = 256;

}  // namespace

LoadReport::LoadReport(const smg_load_report& report, bool pushed)
    : timestamp_(text(report.timestamp).substr(0, kLongestTimestamp)), totals_(totals_of(report)) {
  ranks_.reserve(report.rank_count);
  modes_.reserve(report.rank_count);
  for (std::uint32_t i = 0; i < report.rank_count; ++i) {
    smg_rank_load& rank = ranks_.emplace_back(rank_of(report, i));
    rank.disagg_mode = smg::view(modes_.emplace_back(text(rank.disagg_mode)));
  }
  view_ = report;
  view_.struct_size = sizeof view_;
  view_.ranks = ranks_.data();
  view_.rank_stride = sizeof(smg_rank_load);
  view_.timestamp = smg::view(timestamp_);
  if (pushed) view_.pushed = 1;
}

LivenessEvidence LoadReport::evidence() const {
  LivenessEvidence evidence;
  evidence.pushed = view_.pushed != 0;
  evidence.waiting = totals_.waiting_requests;
  if (!evidence.pushed) return evidence;
  for (const smg_rank_load& rank : ranks_) {
    if ((rank.present & SMG_LOAD_ENGINE_SILENCE) == 0) continue;
    if (evidence.silence_ms && *evidence.silence_ms >= rank.engine_silence_ms) continue;
    evidence.silence_ms = rank.engine_silence_ms;
    evidence.reports_steps =
        (rank.present & SMG_LOAD_REPORTS_STEPS) != 0 && rank.reports_steps != 0;
    evidence.prefill_pending_tokens.reset();
    if ((rank.present & SMG_LOAD_PREFILL_PENDING) != 0) {
      evidence.prefill_pending_tokens = rank.prefill_pending_tokens;
    }
  }
  return evidence;
}

}  // namespace smg
