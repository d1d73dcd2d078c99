// An engine's load document, as `/loads` and `/v1/loads` answer it, read into the report of the
// ABI.
//
//   {"timestamp": "...", "dp_rank_count": 1, "loads": [{"dp_rank": 0, "num_waiting_reqs": 3, ...}]}
//
// Strict on types: a document with a string for a number is not one of these. Unknown keys are
// ignored, missing ones are 0, and 3.0 counts as a whole number.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "smg/load.h"

namespace smg::http_loads {

class LoadsDocument {
 public:
  // False: not a load document.
  bool read(std::string_view json);
  // Of the document read last. Valid until the next read.
  const smg_load_report& report() const { return report_; }

 private:
  simdjson::dom::parser parser_;
  std::vector<smg_rank_load> ranks_;
  smg_load_report report_{};
};

}  // namespace smg::http_loads
