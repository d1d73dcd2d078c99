// A transport under check with an engine behind it, and single exchanges over it.
//
// The built-in engine serves transports of the scheme http; others need --engine. Used off the
// loops.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/check/echo_engine.hpp"
#include "host/check/local_worker.hpp"
#include "host/check/subject.hpp"

namespace smg::check {

// One exchange: what is asked, and what came. Its request is spoilt as soon as a transport must no
// longer look at it.
struct Exchange {
  Exchange(std::string path, std::string body);

  LocalRequest request;
  Stream stream;
  // On the stream's loop, beside the spoiling; may be empty.
  std::function<std::int32_t(Stream&, Stream::Moment)> react;
};

class Line {
 public:
  // REQUIRES: no_engine(subject) is empty. Throws std::runtime_error if the transport refuses.
  explicit Line(Subject& subject);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Why there is no engine for it; empty: there is one.
  static std::string no_engine(const Subject& subject);

  bool built_in() const { return engine_.has_value(); }
  const EchoEngine& engine() const { return *engine_; }
  // An exchange with the built-in engine as /check/NAME, or a stream of any other engine.
  std::unique_ptr<Exchange> exchange(const std::string& name) const;

  // `limit_ms`: its deadline; 0: none.
  void start(Exchange& exchange, std::uint32_t loop = 0, std::uint64_t limit_ms = 0);
  void pause(Exchange& exchange);
  void resume(Exchange& exchange);
  void cancel(Exchange& exchange);
  // [loop] The same from within a call of the sink.
  void cancel_here(Stream& stream);
  // With no exchange of its own behind the number.
  void cancel_number(std::uint32_t loop, std::uint64_t number);
  bool ends(const Exchange& exchange, std::uint64_t milliseconds = 5000);
  // The calls that a cancelled stream must not get would have come by now.
  void linger();

  Subject& subject() { return subject_; }
  const PluginInstance& instance() const { return *instance_; }
  void* endpoint() const { return endpoint_; }
  void forget(const Exchange& exchange) { subject_.rig.streams().forget(exchange.stream); }

 private:
  Subject& subject_;
  std::optional<EchoEngine> engine_;
  std::unique_ptr<PluginInstance> instance_;
  std::unique_ptr<LocalWorker> worker_;
  void* endpoint_ = nullptr;
};

// Runs `rule` on a line; then closes it and adds what the transport did out of order. Skipped
// without an engine.
Finding on_line(Subject& subject, Finding (*rule)(Line& line));

}  // namespace smg::check
