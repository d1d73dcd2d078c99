// The access log: a line for every request, to standard output and, with [log] dir, to
// <dir>/access.log.
//
// Loops format their lines into a Lane each and go on. A thread of its own takes the lines of all
// lanes at once, 128 KiB or 100 ms after the last time, and writes them. Where an output does not
// take them, lines are dropped and counted: neither a loop nor the end of the process waits for a
// reader, and the file hardly does for one of standard output. A file that was moved away
// (logrotate) or removed is made anew with the next lines.
//
// A line never has a header's value other than the request id, and never a query string.
//
//   AccessLog log(config.log, loops, families.access_log_dropped);
//   if (std::string error = log.start(); !error.empty()) ...
//   log.lane(i).record(entry);                  // on loop i, once a request, if [log] access
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/access_line.hpp"
#include "host/config/config.hpp"
#include "host/line_output.hpp"
#include "host/metrics/metrics.hpp"

namespace smg {

class AccessLog {
 public:
  // Bytes of a lane that wake the writer, and above which lines are lost.
  static constexpr std::size_t kWakeAt = 128 * 1024;
  static constexpr std::size_t kMostWaiting = 1024 * 1024;

  // One loop's; record() on that loop only.
  class Lane {
   public:
    void record(const AccessEntry& entry);

   private:
    friend class AccessLog;
    Lane(AccessLog& log, bool json) : log_(log), line_(json) {}

    AccessLog& log_;
    AccessLine line_;
    std::mutex mutex_;
    std::string waiting_;
  };

  // `dropped` counts the lines that an output did not get. `standard_output`: a descriptor; -1 for
  // none.
  AccessLog(const Log& config, std::uint32_t lanes, Series dropped, int standard_output = 1);
  // Writes what the outputs take within a second. REQUIRES: nobody records any more.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // A sentence if the file cannot be written; then nothing is.
  std::string start();
  Lane& lane(std::uint32_t loop) { return *lanes_[loop]; }

 private:
  void wake();
  void run();
  void write_waiting(std::chrono::milliseconds patience);

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::string file_;  // empty: none
  std::vector<std::unique_ptr<LineOutput>> outputs_;
  Series dropped_;
  std::string batch_;  // of the writer, as taken_
  std::string taken_;  // from a lane
  std::mutex mutex_;   // of what follows
  std::condition_variable due_;
  bool is_due_ = false;
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace smg
