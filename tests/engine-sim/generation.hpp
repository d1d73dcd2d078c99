#pragma once
// One request being generated: tokens come from the engine model, or from a timer at the request's
// own pace, and go out as events of a stream or are counted for a whole answer. Loop thread; owned
// by its connection.

#include <memory>
#include <string>

#include "answer_format.hpp"
#include "connection.hpp"
#include "engine_model.hpp"
#include "reply.hpp"

namespace smg::sim {

class Generation;

// The engine as a generation needs it.
class GenerationHost {
 public:
  virtual EngineModel& model() = 0;
  // The model has been given or relieved of work: look again when it has to run next.
  virtual void model_changed() = 0;
  virtual void started(Generation& generation) = 0;
  virtual void ended(Generation& generation, bool complete) = 0;

 protected:
  ~GenerationHost() = default;
};

class Generation final : public Exchange, public Job {
 public:
  Generation(GenerationHost& host, Connection& connection, std::unique_ptr<ApiRequest> request,
             std::string_view model, std::uint64_t number);

  // Begins at the pace of the engine model. False when the request can never fit into its KV
  // blocks; nothing is answered then.
  bool start_in_model();
  // Begins at its own pace; the answer is whole at once when there is no interval.
  void start_paced(double interval_ms);

  const Answer& answer() const { return answer_; }
  bool paced() const { return paced_; }

  void stop() override;
  void token(std::uint32_t index) override;
  void finished() override;

 private:
  void open_stream();
  void send_piece(bool last);
  void finish();
  static void paced_token(void* self);

  GenerationHost& host_;
  Connection& connection_;
  std::unique_ptr<ApiRequest> request_;
  const AnswerFormat& format_;
  Answer answer_;
  Reply reply_;
  Timer timer_;
  double interval_ms_ = 0;
  double next_ms_ = 0;
  std::uint32_t next_token_ = 0;
  bool in_model_ = false;
  bool paced_ = false;
  bool ended_ = false;
};

}  // namespace smg::sim
