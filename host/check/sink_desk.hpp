// Where the streams of a transport under check go: records what comes and complains of what must
// not.
//
// One in a process at a time, because a sink call brings nothing but its ticket. A Stream belongs
// to the loop that starts it; the desk's own table takes calls from any thread, so that those from
// a wrong one are seen.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "smg/transport.h"

namespace smg::check {

class Complaints;

// One exchange. What is atomic may be read on other threads.
struct Stream {
  enum class Moment { head, data, end, release };

  std::uint64_t ticket = 0;
  std::uint64_t number = 0;  // the transport's own
  std::uint32_t loop = 0;
  std::atomic<std::uint32_t> heads{0};
  std::atomic<std::uint32_t> pieces{0};
  std::atomic<std::uint32_t> ends{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> cancelled{false};  // set before cancel() is called
  bool paused = false;                 // set with pause()
  std::uint64_t bytes_paused = 0;      // delivered all the same
  std::uint32_t status = 0;
  std::uint32_t kind = 0;   // SMG_END_*
  std::uint32_t phase = 0;  // SMG_PHASE_*
  std::string detail;
  std::string body;  // as long as `keep_body`
  bool keep_body = false;
  // What to do when something came, on the stream's loop; its answer is what the sink returns.
  std::function<std::int32_t(Stream&, Moment)> react;

  bool ended() const { return ends.load(std::memory_order_acquire) > 0; }
};

class SinkDesk {
 public:
  explicit SinkDesk(Complaints& complaints);
  ~SinkDesk();
  SinkDesk(const SinkDesk&) = delete;
  SinkDesk& operator=(const SinkDesk&) = delete;

  static const smg_sink& sink();
  // True while a start() runs on this thread.
  static bool inside_start();

  // [loop] Calls start() of the transport.
  void start(const smg_transport_api& api, void* endpoint, const smg_request& request,
             Stream& stream);
  // Calls for it are complaints from now on. For streams that are about to be destroyed.
  void forget(const Stream& stream);

 private:
  // nullptr, after a complaint, if that call must not be.
  Stream* admit(std::uint64_t ticket, const char* call);
  void complain(const std::string& text);

  static std::int32_t head(std::uint64_t ticket, const smg_response_head* head);
  static std::int32_t data(std::uint64_t ticket, const char* data, std::uint64_t size);
  static void end(std::uint64_t ticket, const smg_outcome* outcome);
  static void release(std::uint64_t ticket);

  Complaints& complaints_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Stream*> streams_;
  std::uint64_t last_ = 1000;  // no small number that a transport may have made up
};

}  // namespace smg::check
