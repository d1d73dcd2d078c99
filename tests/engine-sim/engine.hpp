#pragma once
// One simulated engine: a port, an engine model, faults and a journal. Routes requests to the APIs
// and to what an engine says of itself in its dialect. Loop thread.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine_model.hpp"
#include "fault.hpp"
#include "generation.hpp"
#include "journal.hpp"
#include "port.hpp"

namespace smg::sim {

enum class Dialect : std::uint8_t { Vllm, Sglang };

struct EngineSettings {
  std::string model = "sim-model";
  Dialect dialect = Dialect::Vllm;
  ModelSettings batch;
  bool fast = false;           // no engine model: whole answers at once, streams paced by decode_ms
  bool native_loads = true;    // serves /v1/loads
  std::size_t journal = 1000;  // requests remembered
};

class Engine final : public Service, public GenerationHost {
 public:
  // Listens; throws std::runtime_error naming the address when it cannot.
  Engine(Loop& loop, const EngineSettings& settings, const std::string& host, std::uint16_t port,
         const TlsContext* tls);

  const Port& port() const { return port_; }

  // Control. All throw std::invalid_argument on a bad value.
  void add_fault(const boost::json::object& fields);
  void configure(const boost::json::object& fields);
  void reset();
  boost::json::object state() const;
  const Journal& journal() const { return journal_; }

  void head_read(Connection& connection) override;
  void request_read(Connection& connection) override;
  void request_refused(Connection& connection, const std::string& reason) override;
  void reply_sent(Connection& connection) override;
  void peer_left(Connection& connection, AbortKind kind) override;
  void closed(Connection& connection) override;

  EngineModel& model() override { return model_; }
  void model_changed() override;
  void started(Generation& generation) override;
  void ended(Generation& generation, bool complete) override;

 private:
  void route(Connection& connection);
  void route_get(Connection& connection);
  void route_post(Connection& connection);
  void answer_api(Connection& connection, Api api);
  void generate(Connection& connection, std::unique_ptr<ApiRequest> request);
  void cancel_response(Connection& connection, std::string_view id);
  // Effects that come before any answer; true when the request is taken care of. `next` goes on
  // with it after a delay.
  template <class Next>
  bool intercept(Connection& connection, Next& next);

  // What the engine says of itself (engine_info.cpp).
  std::string models_json() const;
  std::string server_info_json() const;
  std::string model_info_json() const;
  std::string loads_json(std::string_view query);
  std::string metrics_text();
  std::vector<boost::json::object> rank_loads();
  double throughput();

  static void model_due(void* self);

  Loop& loop_;
  EngineSettings initial_;
  EngineSettings settings_;
  Journal journal_;
  EngineModel model_;
  Timer model_timer_;
  FaultTable faults_;
  boost::json::array report_;  // replaces the reported load, one object per rank
  std::uint64_t next_answer_ = 1;
  std::uint64_t paced_ = 0;
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t paced_tokens_ = 0;
  std::uint64_t generations_ = 0;
  double sampled_at_ms_ = Loop::monotonic_ms();
  std::uint64_t sampled_tokens_ = 0;
  double throughput_ = 0;
  Port port_;  // last: its connections use all of the above
};

}  // namespace smg::sim
