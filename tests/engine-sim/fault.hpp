#pragma once
// What can be made to go wrong, and when. A fault has a kind, a path that it applies to and a
// number of requests that it lasts for; the kinds and their parameters are listed in README.md. The
// effects of all faults that meet one request are merged into one Effects record, which the code
// that answers it consults.

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smg::sim {

enum class Cut : std::uint8_t { None, Reset, Close, BadChunk };

struct Effects {
  bool reset_before_head = false;
  bool reset_after_head = false;
  Cut cut = Cut::None;  // mid-answer, after cut_after tokens
  std::uint64_t cut_after = 0;
  bool hang = false;
  bool hang_reads_body = true;
  std::int64_t delay_ms = 0;    // before anything is answered
  std::size_t write_bytes = 0;  // per send call; 0 = no pacing
  std::int64_t write_interval_ms = 0;
  std::int64_t length_error = 0;  // added to Content-Length
  bool no_framing = false;
  bool length_and_chunked = false;
  bool two_lengths = false;
  std::string status_line;  // instead of the right one
  int informational = 0;    // 1xx status sent before the answer
  std::int64_t informational_count = 1;
  int status = 0;        // answer this instead
  int early_status = 0;  // answer this before the body is read, then close
  bool early_abrupt = false;
  bool close_after = false;  // close after the answer
  bool announce_close = true;
  double interval_factor = 1;                                // stretches the time between tokens
  std::optional<std::string> body;                           // answer exactly this body
  std::vector<std::pair<std::string, std::string>> replace;  // in /metrics

  bool paces_writes() const { return write_bytes > 0; }
};

struct Fault {
  std::string kind;
  std::string path;            // prefix; empty: the requests that the kind is about
  std::int64_t count = -1;     // requests left; -1 = all that follow
  bool reused_only = false;    // only on a connection that has answered before
  boost::json::object fields;  // as given

  // Throws std::invalid_argument that says what is wrong and what is allowed.
  static Fault parse(const boost::json::object& fields);
  // Faults of the listener and of idle connections are states of the engine, not of a request.
  bool is_state() const;
  void apply(Effects& effects) const;
};

class FaultTable {
 public:
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  void clear() { faults_.clear(); }
  void clear(std::string_view kind);
  const std::vector<Fault>& all() const { return faults_; }
  // The effects on this request, null for none. Uses up one count of each fault that meets it.
  std::unique_ptr<Effects> take(std::string_view method, std::string_view path, bool reused);

 private:
  std::vector<Fault> faults_;
};

}  // namespace smg::sim
