#include "host/load/load_report.hpp"

#include "host/base/views.hpp"

namespace smg {

LoadReport::LoadReport(const smg_load_report& report)
    : timestamp_(text(report.timestamp)), totals_(totals_of(report)) {
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
}

}  // namespace smg
