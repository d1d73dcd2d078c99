// One client connection: reads requests, hands them to routing or answers them here, writes
// answers.
//
// Belongs to one loop and lives until closed; deleted at the end of the turn in which it closes.
// Requests of one connection are served one after the other, pipelined ones wait unread in `in_`.
// Output is corked per loop: what a call-back writes goes out in one send when the call-back
// returns; what the kernel does not take is kept in `out_`, and above a high-water mark the worker
// is paused.
//
// A request passes the gates before its body is read (connection_gate.cpp): who asks, and whether
// there is room. One that has to wait there leaves its body in the socket.
//
// A client may send kMaxPipelined bytes ahead of its answers. One that sends more is cut off: its
// bytes would have to be left unread, and behind them the sign that it is gone.
//
// A client that closes its side is gone: its exchange is aborted at once. (A FIN does not tell
// whether the other direction is still read; waiting to find out would let an engine work for
// nobody.)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/access_line.hpp"
#include "host/admission/ticket.hpp"
#include "host/auth/control_plane.hpp"
#include "host/base/bytes.hpp"
#include "host/http/channel.hpp"
#include "host/http/listener_loop.hpp"
#include "host/http/response_head.hpp"
#include "host/http/routes.hpp"
#include "host/routing/client.hpp"
#include "host/routing/exchange.hpp"
#include "smg/cpp/http1.hpp"
#include "smg/host.h"

namespace smg {

class AdminCall;
class EventStream;

class Connection final : public Client, private AdmissionTicket::Holder, private smg_watch {
 public:
  // `peer`: the client's address, without its port. `excess`: beyond the limit; it is told so when
  // it asks for anything but the gateway's health.
  Connection(ListenerLoop& env, int socket, std::string_view peer, bool excess);
  ~Connection();

  // False if the loop does not take it; then delete it.
  bool start();
  // Sends what this connection had in the loop's cork, and `more` behind it.
  void flush_cork(std::string_view corked, std::string_view more);
  // Other limits, from the next request on.
  void config_changed();
  // Ends it: now if idle and nothing has arrived, else after the running answer.
  void drain();
  // Ends it if it shows events: who may see them has changed.
  void end_events();
  void close_now();
  // close_now() by this side's will, whatever runs.
  void cut_off();
  bool busy() const { return in_request_; }
  std::uint64_t started() const { return started_; }

  // Of the list of the loop's connections.
  Connection* next = nullptr;
  Connection** link = nullptr;

 private:
  friend class EventStream;

  // Client
  bool begin_response(const RelayedHead& head) override;
  bool send_body(std::string_view data) override;
  void end_response() override;
  void release_response() override;
  void take_back_response() override;
  void cut_response() override;
  void reply(const MadeReply& reply) override;

  static void ready(smg_watch* watch, std::uint32_t events);
  static void timer_fired(smg_timer* timer);
  static void next_request(smg_task* task);
  static void destroy(smg_task* task);

  void on_ready(std::uint32_t events);
  void read();
  void parse_pending();
  // Returns how much of the bytes was used.
  std::size_t parse(const char* data, std::size_t size);
  // What the gates and the choice of the handler want to know of a head.
  struct HeadFacts {
    std::string_view path;
    std::string_view query;
    std::string_view id;
    std::string_view content_type;
    std::string_view origin;
    std::string_view authorization;
    std::string_view priority;
    std::string_view tenant;
    bool preflight = false;
  };
  // waiting: the request is to be parked; refused: the client has its answer.
  enum class Gate : std::uint8_t { open, waiting, refused };

  void enter_request();
  void leave_request(AccessEnd end);
  void begin_request(const http1::RequestHead& head);
  void note_head(const http1::RequestHead& head, HeadFacts& facts);
  void open_request(const http1::RequestHead& head, const HeadFacts& facts);
  // The gates are passed: the body may come.
  void take_body();
  void take_body_bytes(std::string_view bytes);
  void drop_request();

  Gate pass_gates(const http1::RequestHead& head, const HeadFacts& facts);
  Gate ask_control_plane(const http1::RequestHead& head, const HeadFacts& facts);
  Gate ask_admission(const HeadFacts& facts);
  Gate turn_away(std::string_view code, std::string_view message);
  bool accept(const AdminVerdict& verdict);
  void refuse_admission(const AdmissionRefusal& refusal);
  void park();
  void waited_long_enough();
  void leave_gate();
  // AdmissionTicket::Holder
  void admitted() override;
  void preempted() override;
  void make_room();

  void collect_headers(const http1::RequestHead& head);
  void complete_request();
  void refuse(std::uint32_t status, std::string_view reason);
  void reply_text(std::uint32_t status, std::string_view text, bool close = false);
  // A line in the access log, if there is one.
  void record(AccessEnd end);
  // What such a line says of the answer; status 0: there is none, or none any more.
  void begin_record(std::uint32_t status, std::string_view worker, std::string_view error);
  void count_head(std::uint32_t status, std::string_view error_code);
  ReplyContext reply_context();
  bool is_answering() const { return phase_ == Phase::answering; }
  // The next request has to wait: for the answer before it, or for a client that does not read.
  bool must_wait() const;

  void write(std::string_view data);
  void flush_backlog();
  // While something is kept for the client, it has to read.
  void watch_backlog();
  void reset_on_close();
  void go_on_later();
  void finish_request();
  void linger_and_close();
  void client_gone();
  void set_deadline(std::uint64_t seconds);
  void count_limit(std::string_view limit);

  struct Timer : smg_timer {
    Connection* owner;
  };
  struct Task : smg_task {
    Connection* owner;
  };
  enum class Phase : std::uint8_t { idle, head, parked, body, answering, lingering, closed };

  ListenerLoop& env_;
  Timer timer_{};
  Task next_{};  // goes on with a pipelined request
  Task destroy_{};
  Channel channel_;
  std::optional<http1::RequestParser> parser_;
  Bytes in_;
  Bytes out_;
  Exchange exchange_;
  EventStream* events_ = nullptr;
  AdmissionTicket* ticket_ = nullptr;  // made at the first request that needs one
  ControlPlane::Pending verdict_;      // not there yet
  std::string peer_;                   // address of the client
  std::string tenant_;                 // whose request it is, where admission is asked
  std::shared_ptr<AdminCall> admin_;   // from the head of its request to the answer
  const Route* route_ = nullptr;
  std::string request_id_;
  std::string method_;      // for the access log, as what follows
  std::string path_;        // without the query
  std::string worker_;      // that answered
  std::string_view error_;  // code of an answer made here; a constant
  std::uint64_t head_at_ = 0;
  std::uint64_t body_sent_ = 0;  // bytes of the answer's body
  std::uint32_t status_ = 0;     // 0: no answer was begun
  std::string cors_;             // header lines for a cross-origin request
  std::string query_;            // of a request that is answered here
  std::uint64_t started_ = 0;
  BodyError content_error_;        // found in the head, told when the gates are passed
  std::uint64_t announced_ = 0;    // bytes of the body, by its head
  std::size_t body_progress_ = 0;  // bytes since the deadline of the body was set
  Framing framing_ = Framing::none;
  Phase phase_ = Phase::idle;
  bool keep_alive_ = true;
  bool http10_ = false;
  bool head_only_ = false;
  bool chunked_body_ = false;
  bool expects_continue_ = false;
  bool discardable_ = false;  // after an early answer the body is read and dropped
  const bool excess_;
  bool in_request_ = false;   // between its head and the end of its answer
  bool exchanging_ = false;   // exchange_ is open
  bool making_room_ = false;  // preempted before that: nothing of it is to go out
  bool data_begun_ = false;   // of the answer's body something may have gone out
  bool refused_ = false;      // it was not let in
  bool cut_ = false;          // its answer breaks off on this side
  bool replied_ = false;      // the answer was given before the body came: the rest is not read
  bool held_ = false;         // the answer may still be taken back
  std::uint32_t held_status_ = 0;  // of it
  bool relaying_ = false;          // the head of a worker's answer was written, its end was not
  bool draining_ = false;
  bool broken_ = false;
  bool unread_ = false;  // the socket may hold more than was read
  bool next_queued_ = false;
};

}  // namespace smg
