#include <atomic>
#include <optional>
#include <stdexcept>

#include "host/base/views.hpp"
#include "host/check/local_worker.hpp"
#include "host/check/rules.hpp"
#include "host/routing/random.hpp"
#include "smg/transport.h"

namespace smg::check {
namespace {

constexpr const char* kOnce = "call `done` exactly once for every poll, failures included";

// Where the answers of polls arrive: one poll at a time, known by its ticket.
struct Desk {
  std::uint64_t ticket = 0;
  std::atomic<int> answers{0};
  bool reported = false;
  std::string problem;
};
Desk g_desk;
Loop* g_control = nullptr;

void answered(std::uint64_t ticket, const smg_load_report* report, std::uint32_t cause,
              smg_view detail) {
  Desk& desk = g_desk;
  if (ticket != desk.ticket) desk.problem = "the answer came with a ticket that is none";
  if (Loop::current() != g_control) desk.problem = "the answer came off the control loop";
  desk.reported = report != nullptr;
  if (report != nullptr) {
    if (auto problem = report_problem(report); !problem.empty()) desk.problem = problem;
  } else if (cause < SMG_NO_REPORT_UNSUPPORTED || cause > SMG_NO_REPORT_GAUGE_MISSING) {
    desk.problem =
        "no report, for the cause " + std::to_string(cause) + "; smg/load.h lists those that exist";
  } else if (detail.size == 0 || detail.data == nullptr) {
    desk.problem = "no report, and no sentence says why";
  }
  desk.answers.fetch_add(1);
}

// A source of one worker, attached as long as this lives.
class Source {
 public:
  explicit Source(Subject& subject) : subject_(subject), instance_(subject.create()) {
    g_control = &subject.rig.loops().control();
    const auto& api = instance_->monitor();
    for (const std::string_view runtime : kRuntimes) {
      worker_.emplace("http", runtime);
      std::string problem;
      subject.rig.on_control([&] {
        if (api.match(instance_->self(), &worker_->view()) == 0) return;
        attached_ = attach(*instance_, worker_->view(), source_, problem);
      });
      if (!problem.empty()) throw std::runtime_error(problem);
      if (attached_) break;
    }
  }
  ~Source() {
    detach();
    subject_.rig.destroy(std::move(instance_));
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Why it cannot be polled; empty: it can.
  std::string unfit() const {
    if (!attached_) return "it suits no worker that the checker has";
    if (instance_->monitor().poll == nullptr) return "it only pushes";
    return {};
  }
  void detach() {
    if (!attached_) return;
    attached_ = false;
    subject_.rig.on_control([&] { instance_->monitor().detach(source_); });
    subject_.rig.settle();
  }
  void begin(std::uint64_t limit_ms) {
    const std::uint64_t ticket = g_desk.ticket + 1;
    g_desk.answers = 0;
    g_desk.problem.clear();
    g_desk.reported = false;
    g_desk.ticket = ticket;
    subject_.rig.on_control(
        [&] { instance_->monitor().poll(source_, ticket, limit_ms * 1'000'000, answered); });
  }
  // Empty, or what was wrong with the answer.
  std::string poll(std::uint64_t limit_ms) {
    begin(limit_ms);
    subject_.rig.wait([] { return g_desk.answers > 0; }, 10 * limit_ms + 2000);
    subject_.rig.settle();
    if (g_desk.answers != 1) {
      return std::to_string(g_desk.answers) + " answers came within " +
             std::to_string(10 * limit_ms + 2000) + " ms; " + kOnce;
    }
    return g_desk.problem;
  }

 private:
  Subject& subject_;
  std::unique_ptr<PluginInstance> instance_;
  std::optional<LocalWorker> worker_;
  void* source_ = nullptr;
  bool attached_ = false;
};

FakeFleet::Answer with(std::uint32_t status, std::string body) {
  FakeFleet::Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Finding match(Subject& subject) {
  auto instance = subject.create();
  const auto& api = instance->monitor();
  std::string problem;
  std::string seen;
  for (const char* const scheme : {"http", "https", "grpc", "ipc"}) {
    for (const std::string_view runtime : kRuntimes) {
      const LocalWorker worker(scheme, runtime);
      subject.rig.on_control([&] {
        const std::uint32_t score = api.match(instance->self(), &worker.view());
        if (score > 100) problem = "answered " + std::to_string(score);
        if (score == 0) return;
        seen += (seen.empty() ? "" : ", ") + std::string(scheme) +
                (runtime.empty() ? "" : "/" + std::string(runtime)) + " " + std::to_string(score);
      });
    }
  }
  subject.rig.destroy(std::move(instance));
  if (!problem.empty()) return broken(problem, "answer from 0, not at all, to 100, made for it");
  return passed(seen.empty() ? "suits no worker that the checker has" : seen);
}

Finding poll(Subject& subject) {
  Source source(subject);
  if (auto reason = source.unfit(); !reason.empty()) return skipped(reason);
  // Nobody answers, nobody has the route, the engine fails.
  for (const std::uint32_t status : {0u, 404u, 500u}) {
    subject.rig.fleet().answer = [&](std::string_view) {
      FakeFleet::Answer answer = with(status, "{}");
      if (status == 0) {
        answer.end = SMG_END_CONNECT_FAILED;
        answer.detail = "connection refused";
      }
      return answer;
    };
    if (auto problem = source.poll(500); !problem.empty()) {
      return broken("an engine with the status " + std::to_string(status) + ": " + problem, kOnce);
    }
    if (g_desk.reported) {
      return broken(
          "an engine with the status " + std::to_string(status) + ": a report came of what is none",
          "answer NULL and a cause of smg/load.h");
    }
  }
  return passed("one answer each to an engine that refuses, knows no route, and fails");
}

std::string nested(std::size_t depth) {
  std::string text = "{\"loads\":";
  text.append(depth, '[').append(depth, ']');
  return text + "}";
}

Finding poll_garbage(Subject& subject) {
  Source source(subject);
  if (auto reason = source.unfit(); !reason.empty()) return skipped(reason);
  std::string noise(1 << 20, '\0');
  Random random(99);
  for (char& c : noise) c = static_cast<char>(random.next());
  const std::pair<const char*, std::string> kBodies[] = {
      {"nothing", ""},
      {"blank lines", "\n\n \n"},
      {"a cut document", R"({"loads":[{"dp_rank":0,"num_running_reqs":)"},
      {"another document", R"({"error":"none of your business"})"},
      {"wrong types", R"({"loads":{"dp_rank":"x"},"timestamp":[]})"},
      {"numbers out of range",
       R"({"loads":[{"dp_rank":1e300,"num_running_reqs":-9223372036854775808,"token_usage":1e999}]})"},
      {"no numbers", "vllm:num_requests_running NaN\nvllm:kv_cache_usage_perc{a=\"b\"} +Inf\n"},
      {"a broken exposition", "# TYPE x gauge\nx{y=\"z} 1\nx 1 2 3\nx{\n\xff\xfe 7\n"},
      {"deep nesting", nested(200'000)},
      {"a megabyte of noise", noise},
      {"eight megabytes of one letter", std::string(8 << 20, 'a')},
      {"an HTML page", "<html><body>login</body></html>"},
      {"a NUL", std::string("{\0}", 3)},
  };
  for (const auto& [name, body] : kBodies) {
    subject.rig.fleet().answer = [&](std::string_view) { return with(200, body); };
    if (auto problem = source.poll(500); !problem.empty()) {
      return broken(std::string("an answer of ") + name + ": " + problem, kOnce);
    }
  }
  for (const std::uint32_t status : {200u, 201u, 204u, 301u, 401u, 503u, 599u, 999u}) {
    subject.rig.fleet().answer = [&](std::string_view) { return with(status, noise); };
    if (auto problem = source.poll(500); !problem.empty()) {
      return broken("noise with the status " + std::to_string(status) + ": " + problem, kOnce);
    }
  }
  return passed(std::to_string(std::size(kBodies)) + " bodies and 8 statuses, one answer each");
}

Finding poll_slow(Subject& subject) {
  Source source(subject);
  if (auto reason = source.unfit(); !reason.empty()) return skipped(reason);
  subject.rig.fleet().answer = [](std::string_view) {
    FakeFleet::Answer answer;
    answer.silent = true;
    return answer;
  };
  if (auto problem = source.poll(200); !problem.empty()) {
    return broken("an engine that never answers, 200 ms to poll it: " + problem,
                  "give the call the poll's timeout, and answer when it ends");
  }
  // Left in the middle of a poll.
  source.begin(60'000);
  source.detach();
  std::size_t open = 0;
  subject.rig.on_control([&] { open = subject.rig.fleet().open_calls(); });
  if (open > 0) {
    return broken("detached in the middle of a poll, it left " + std::to_string(open) +
                      " calls of its own behind",
                  "cancel what is open in detach()");
  }
  return passed("a silent engine is given up in time; detach() leaves no call behind");
}

Finding thread_tags(Subject& subject) {
  Source source(subject);
  if (source.unfit().empty()) {
    subject.rig.fleet().answer = [](std::string_view) { return with(200, "{}"); };
    source.poll(500);
  }
  if (auto text = subject.rig.complaints().first(Complaints::Kind::thread); !text.empty()) {
    return broken(text, "every function of smg/host.h says on which threads it may be called");
  }
  return passed("services were called on the threads that they name");
}

constexpr Rule kRules[] = {{"match", match, 10, false},
                           {"poll", poll, 30, false},
                           {"poll-garbage", poll_garbage, 60, false},
                           {"poll-slow", poll_slow, 20, false},
                           {"thread-tags", thread_tags, 20, false}};

}  // namespace

std::span<const Rule> monitor_rules() {
  return kRules;
}

}  // namespace smg::check
