#include "endpoint.hpp"

#include <algorithm>

#include "fields.hpp"

namespace acme {
namespace {

constexpr uint64_t kDialAgain = 1'000'000'000;  // ns

int32_t count_of(const boost::json::object& frame, std::string_view key) {
  return static_cast<int32_t>(std::clamp<int64_t>(whole_of(frame, key), 0, INT32_MAX));
}

}  // namespace

struct Endpoint::Probe {
  Probe(Endpoint& endpoint, uint64_t id, const smg_probe& asked, smg_probe_done answer, void* with)
      : owner(endpoint),
        number(static_cast<int64_t>(id)),
        wants_models((asked.what & SMG_PROBE_MODELS) != 0),
        done(answer),
        context(with) {
    owner.services_.loop.set(timeout, owner.services_.clock.now() + asked.timeout_ns);
  }
  ~Probe() { owner.services_.loop.clear(timeout); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void late() noexcept { owner.answer_probe(*this, false, "no answer in time"); }

  Endpoint& owner;
  const int64_t number;
  const bool wants_models;
  const smg_probe_done done;
  void* const context;
  std::vector<std::string> models;
  smg::Timer<&Probe::late> timeout{*this};
};

Endpoint::Endpoint(const Services& services, StreamsOfLoops& streams, const smg_worker& worker)
    : services_(services), streams_(streams), worker_(worker) {
  for (const auto& of_loop : streams_) {
    lines_.push_back(std::make_unique<Line>(services_, *of_loop, *this, worker_));
  }
}

Endpoint::~Endpoint() = default;

void Endpoint::start(const smg_request& request, uint64_t ticket, uint64_t* stream) {
  *stream = streams().next_number();
  streams().begin(*stream, line(), request, ticket);
}

void Endpoint::probe(const smg_probe& asked, smg_probe_done done, void* context) {
  const uint64_t number = streams().next_number();
  probes_.push_back(std::make_unique<Probe>(*this, number, asked, done, context));
  const bool models = probes_.back()->wants_models;
  if (models) line().send({{"op", "models"}, {"id", number}});
  line().send({{"op", "health"}, {"id", number}});
}

void Endpoint::received(std::string_view op, const boost::json::object& frame) {
  if (op == "load") return report(frame);
  const auto found = std::find_if(
      probes_.begin(), probes_.end(),
      [number = whole_of(frame, "id")](const auto& probe) { return probe->number == number; });
  if (found == probes_.end()) return;
  Probe& probe = **found;
  if (op == "health") return answer_probe(probe, flag_of(frame, "ok"), text_of(frame, "reason"));
  const boost::json::value* const models = frame.if_contains("models");
  if (op != "models" || models == nullptr || !models->is_array()) return;
  for (const auto& model : models->get_array()) {
    if (const auto* name = model.if_string()) probe.models.emplace_back(name->data(), name->size());
  }
}

// Whoever is told may probe again at once.
void Endpoint::answer_probe(Probe& probe, bool healthy, std::string_view detail) {
  const auto found = std::find_if(probes_.begin(), probes_.end(),
                                  [&](const auto& item) { return item.get() == &probe; });
  const std::unique_ptr<Probe> answered = std::move(*found);
  probes_.erase(found);
  std::vector<smg_view> models;
  for (const auto& model : answered->models) models.push_back(smg::view(model));
  smg_probe_result result{};
  result.struct_size = sizeof result;
  result.healthy = healthy ? 1 : 0;
  result.detail = smg::view(detail);
  result.models = models.data();
  result.model_count = static_cast<uint32_t>(models.size());
  answered->done(answered->context, &result);
}

// The engine tells unasked, so no monitor has to ask.
void Endpoint::report(const boost::json::object& frame) const {
  smg_rank_load rank{};
  rank.struct_size = sizeof rank;
  rank.running_requests = count_of(frame, "running");
  rank.waiting_requests = count_of(frame, "waiting");
  rank.max_running_requests = count_of(frame, "max_running");
  rank.token_usage = real_of(frame, "kv_usage");
  smg_load_report report{};
  report.struct_size = sizeof report;
  report.rank_count = 1;
  report.ranks = &rank;
  report.rank_stride = sizeof rank;
  report.pushed = 1;
  services_.fleet.report(worker_.ref, report);
}

void Endpoint::lost(std::string_view why) {
  while (!probes_.empty()) answer_probe(*probes_.front(), false, why);
  services_.loop.set(again_, services_.clock.now() + kDialAgain);
}

void Endpoint::quiesce() {
  if (services_.on_control_loop()) {
    while (!probes_.empty()) answer_probe(*probes_.front(), false, "the worker is being removed");
    services_.loop.clear(again_);
  }
  line().close();
}

}  // namespace acme
