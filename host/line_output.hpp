// A descriptor that lines are written to without ever being stuck: a pipe whose reader has stopped,
// a terminal on hold, a full disk. Lines go out whole and, as far as the kernel lets them, in one
// piece with what others write there.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace smg {

class LineOutput {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};

  // For standard output and the like; the caller keeps `fd`.
  static std::unique_ptr<LineOutput> of(int fd);
  // A file by its name, appended to. nullptr, and a sentence, if it cannot be opened.
  static std::unique_ptr<LineOutput> file(std::string path, std::string& error);
  ~LineOutput();
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  // Whole lines, with their ends. Returns how many were lost: those that the descriptor has not
  // taken within `patience`, and all that it does not take at once from then on until it takes
  // some.
  std::uint64_t write(std::string_view lines, std::chrono::milliseconds patience = kPatience);

 private:
  using Clock = std::chrono::steady_clock;

  LineOutput(int fd, std::string path);
  void follow_name();
  bool is_ready(Clock::time_point until) const;
  std::int64_t put(std::string_view piece) const;

  int fd_;
  const std::string path_;  // empty: not a file of ours
  bool socket_ = false;
  bool regular_ = false;  // a file: it takes whatever comes
  bool stuck_ = false;    // it has lost lines: no more waiting until it takes some
  bool cut_ = false;      // the last line lacks its end
};

}  // namespace smg
