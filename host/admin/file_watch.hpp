// Notices that a file has changed: written in place, replaced, or reached by another link.
//
// The file is looked at every kInterval, on the background thread because a network file system may
// be slow. Who is still writing is left alone: a change counts when two looks in a row see the
// same. Links are followed anew each time, so one that leads elsewhere counts. The first look
// counts as a change, for nobody knows what happened before it.
//
// Control loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "host/admin/background.hpp"
#include "host/base/file_signature.hpp"
#include "host/loop/loop.hpp"

namespace smg {

class FileWatch {
 public:
  static constexpr std::uint64_t kInterval = 500'000'000;

  // REQUIRES: `background` is destroyed first.
  FileWatch(Loop& control, Background& background, std::string file, std::function<void()> changed);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // May be told twice.
  void start();
  void stop();

 private:
  struct Timer : smg_timer {
    FileWatch* owner;
  };

  static void due(smg_timer* timer);
  void looked(const FileSignature& signature);

  Loop& control_;
  Background& background_;
  const std::string file_;
  const std::function<void()> changed_;
  std::optional<FileSignature> known_;  // that was told
  std::optional<FileSignature> last_;
  Timer timer_{};
  bool looking_ = false;
  bool on_ = false;
};

}  // namespace smg
