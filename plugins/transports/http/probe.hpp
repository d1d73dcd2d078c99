// One probe of a worker: is it up, what is it, what does it serve. A short row of GETs on the
// control loop.
//
// Deletes itself after `done`, which is called exactly once.
#pragma once

#include "engine_facts.hpp"
#include "fetch.hpp"

namespace smg::http {

class Endpoint;

class Probe {
 public:
  static void start(Endpoint& endpoint, const smg_probe& wanted, smg_probe_done done,
                    void* context);
  // The endpoint is about to be closed.
  void abandon();

 private:
  enum class Step : uint8_t {
    health,
    models,
    version,
    server_info,
    old_server_info,
    model_info,
    old_model_info,
    done
  };

  Probe(Endpoint& endpoint, const smg_probe& wanted, smg_probe_done done, void* context);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() = default;

  void go(Step step);
  void answered();
  void after_models();
  void finish(bool healthy, std::string_view detail);
  std::string describe_failure() const;

  Endpoint& endpoint_;
  const uint32_t what_;
  const bool anonymous_;
  const uint64_t deadline_;
  const std::string health_path_;
  const smg_probe_done done_;
  void* const context_;
  Step step_ = Step::health;
  std::string_view path_;
  bool any_answer_ = false;
  std::string first_failure_;
  std::string runtime_;
  Fetch fetch_;
  EngineFacts facts_;
};

}  // namespace smg::http
