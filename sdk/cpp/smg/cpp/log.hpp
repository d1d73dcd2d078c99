// Log lines under the plugin's name. On any thread; never on the data path.
#pragma once

#include "smg/cpp/host.hpp"

namespace smg {

class Log {
 public:
  explicit Log(Host host)
      : host_(host.raw()), table_(host.require<smg_log_service>(SMG_SERVICE_LOG)) {}

  void debug(std::string_view text) const { write(SMG_LOG_DEBUG, text); }
  void info(std::string_view text) const { write(SMG_LOG_INFO, text); }
  void warn(std::string_view text) const { write(SMG_LOG_WARN, text); }
  void error(std::string_view text) const { write(SMG_LOG_ERROR, text); }

  // Whether a line of that SMG_LOG_* level would be written: ask before building a costly one.
  bool enabled(uint32_t level) const { return table_->enabled(host_, level) != 0; }

 private:
  void write(uint32_t level, std::string_view text) const {
    table_->write(host_, level, view(text));
  }

  const smg_host* host_;
  const smg_log_service* table_;
};

}  // namespace smg
