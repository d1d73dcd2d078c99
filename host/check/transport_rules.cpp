#include <algorithm>
#include <array>
#include <string_view>

#include "host/base/views.hpp"
#include "host/check/line.hpp"
#include "host/check/rules.hpp"

namespace smg::check {
namespace {

constexpr const char* kOnce = "every start() that is not cancelled comes to exactly one sink.end()";
constexpr const char* kBuiltInOnly = "needs the built-in engine";

struct Case {
  const char* name;
  std::uint32_t status;  // 0: no head
  std::uint64_t bytes;
  std::uint32_t kinds;  // a bit for each SMG_END_* that fits
};

constexpr std::uint32_t bit(std::uint32_t kind) {
  return 1u << kind;
}

// Empty, or what is wrong.
std::string play(Line& line, const Case& expected) {
  auto exchange = line.exchange(expected.name);
  exchange->stream.keep_body = true;
  line.start(*exchange);
  const bool ended = line.ends(*exchange);
  std::string problem;
  const Stream& stream = exchange->stream;
  const std::string label = std::string("an engine with the behaviour '") + expected.name + "': ";
  if (!ended) {
    problem = label + "no end came within 5 s";
    line.cancel(*exchange);
  } else if ((expected.kinds & bit(stream.kind)) == 0) {
    problem = label + "the stream ended with the kind " + std::to_string(stream.kind) + " (" +
              stream.detail + ")";
  } else if (stream.heads > 0 && expected.status != 0 && stream.status != expected.status) {
    problem = label + "the status was " + std::to_string(stream.status) + ", not " +
              std::to_string(expected.status);
  } else if (stream.kind == SMG_END_COMPLETE && stream.bytes != expected.bytes) {
    problem =
        label + std::to_string(stream.bytes) + " bytes came, not " + std::to_string(expected.bytes);
  } else if (stream.kind != SMG_END_COMPLETE && stream.detail.empty()) {
    problem = label + "the stream failed without a sentence in `detail`";
  }
  line.linger();
  line.forget(*exchange);
  return problem;
}

Finding stream_order(Line& line) {
  if (!line.built_in()) {
    auto exchange = line.exchange("stream");
    line.start(*exchange);
    if (!line.ends(*exchange, 20'000)) return broken("no end came within 20 s", kOnce);
    line.linger();
    line.forget(*exchange);
    if (exchange->stream.status != 200 || exchange->stream.bytes == 0) {
      return broken("the engine's answer came with the status " +
                        std::to_string(exchange->stream.status) + " and " +
                        std::to_string(exchange->stream.bytes) + " bytes",
                    "see that the engine that --engine names runs and serves chat completions");
    }
    return passed("a stream of " + std::to_string(exchange->stream.bytes) + " bytes, status " +
                  std::to_string(exchange->stream.status));
  }
  const std::uint64_t asked = line.exchange("echo")->request.view().body_size;
  const Case cases[] = {
      {"echo", 200, asked, bit(SMG_END_COMPLETE)},
      {"stream", 200, EchoEngine::kStreamSize, bit(SMG_END_COMPLETE)},
      {"empty", 200, 0, bit(SMG_END_COMPLETE)},
      {"error", 500, 2, bit(SMG_END_COMPLETE)},
      {"big", 200, EchoEngine::kBigSize, bit(SMG_END_COMPLETE)},
  };
  for (const Case& each : cases) {
    if (auto problem = play(line, each); !problem.empty()) return broken(problem, kOnce);
  }
  return passed("5 whole answers, byte for byte");
}

Finding stream_failures(Line& line) {
  if (!line.built_in()) return skipped(kBuiltInOnly);
  constexpr std::uint32_t kBroken = bit(SMG_END_CONNECTION_LOST) | bit(SMG_END_BAD_RESPONSE);
  constexpr Case kCases[] = {
      {"drop", 0, 0, kBroken}, {"cut", 200, 0, kBroken}, {"garbage", 0, 0, kBroken}};
  for (const Case& each : kCases) {
    if (auto problem = play(line, each); !problem.empty()) return broken(problem, kOnce);
  }
  return passed("an engine that drops, cuts and breaks the protocol");
}

Finding deadline(Line& line) {
  if (!line.built_in()) return skipped(kBuiltInOnly);
  auto exchange = line.exchange("silent");
  line.start(*exchange, 0, 300);
  const bool ended = line.ends(*exchange, 3000);
  if (!ended) line.cancel(*exchange);
  line.forget(*exchange);
  if (!ended) {
    return broken("a silent engine, 300 ms to answer: no end came within 3 s",
                  "set a timer to request->deadline and end with SMG_END_TIMEOUT");
  }
  if (exchange->stream.kind != SMG_END_TIMEOUT) {
    return broken("a silent engine, 300 ms to answer: ended with the kind " +
                      std::to_string(exchange->stream.kind),
                  "end with SMG_END_TIMEOUT");
  }
  return passed("a silent engine is given up in time");
}

struct Probed {
  Line* line = nullptr;
  std::atomic<int> answers{0};
  bool on_control = true;
  std::uint32_t healthy = 0;
  std::string detail;
};

void probe_once(Line& line, Probed& probed, const char* health_path, std::uint64_t limit_ms) {
  line.subject().rig.on_control([&] {
    smg_probe probe{};
    probe.struct_size = sizeof probe;
    probe.what = SMG_PROBE_HEALTH | SMG_PROBE_IDENTITY | SMG_PROBE_MODELS;
    probe.timeout_ns = limit_ms * 1'000'000;
    probe.health_path = view(health_path);
    probed.line = &line;
    line.instance().transport().probe(
        line.endpoint(), &probe,
        [](void* context, const smg_probe_result* result) {
          auto& self = *static_cast<Probed*>(context);
          self.on_control =
              self.on_control && Loop::current() == &self.line->subject().rig.loops().control();
          if (result != nullptr) {
            self.healthy = result->healthy;
            self.detail = text(result->detail);
          }
          self.answers.fetch_add(1);
        },
        &probed);
  });
  line.subject().rig.wait([&] { return probed.answers > 0; }, limit_ms + 2000);
  line.linger();
}

Finding probe(Line& line) {
  struct Try {
    const char* path;
    std::uint64_t limit_ms;
    bool healthy;
  };
  constexpr Try kTries[] = {
      {"/health", 3000, true}, {"/check/silent", 300, false}, {"/check/error", 3000, false}};
  for (const Try& each : kTries) {
    if (!line.built_in() && !each.healthy) continue;
    Probed probed;
    probe_once(line, probed, each.path, each.limit_ms);
    const std::string label = std::string("a probe of ") + each.path + ": ";
    if (probed.answers != 1) {
      return broken(label + std::to_string(probed.answers) + " answers came, within " +
                        std::to_string(each.limit_ms) + " ms and 2 s more",
                    "call done exactly once for every probe, failures included");
    }
    if (!probed.on_control) {
      return broken(label + "the answer came off the control loop",
                    "post to the last loop to get there");
    }
    if ((probed.healthy != 0) != each.healthy) {
      return broken(label + (each.healthy ? "unwell: " : "healthy ") + probed.detail,
                    "answer what the engine said");
    }
    if (!each.healthy && probed.detail.empty()) {
      return broken(label + "unwell, and no sentence says why", "fill in `detail`");
    }
  }
  return passed(line.built_in() ? "a healthy, a silent and a failing engine" : "a healthy engine");
}

Finding thread_tags(Line& line) {
  constexpr const char* kNames[] = {"echo", "stream", "drop"};
  for (std::uint32_t loop = 0; loop < Subject::kDataLoops; ++loop) {
    for (const char* const name : kNames) {
      auto exchange = line.exchange(name);
      line.start(*exchange, loop, 2000);
      if (!line.ends(*exchange, 3000)) line.cancel(*exchange);
      line.linger();
      line.forget(*exchange);
    }
  }
  if (auto text = line.subject().rig.complaints().first(Complaints::Kind::thread); !text.empty()) {
    return broken(text, "every function of smg/host.h says on which threads it may be called");
  }
  return passed("services and sink were called on the threads that they name");
}

Finding load_notes(Line& line) {
  constexpr const char* kNames[] = {"echo", "stream", "drop", "cut"};
  for (const char* const name : kNames) {
    auto exchange = line.exchange(name);
    line.start(*exchange, 0, 2000);
    if (!line.ends(*exchange, 3000)) line.cancel(*exchange);
    line.forget(*exchange);
  }
  auto left = line.exchange("endless");
  line.start(*left);
  line.linger();
  line.cancel(*left);
  line.linger();
  line.forget(*left);
  const std::int64_t load = line.subject().rig.fleet().tracked_load();
  if (load != 0) {
    return broken(
        "after all streams had ended, fleet.tracked_load still stood at " + std::to_string(load),
        "take back at the end, or at cancel(), what was added at dispatch");
  }
  return passed("tracked load is 0 after the last stream");
}

template <Finding (*Check)(Line&)>
Finding line_rule(Subject& subject) {
  return on_line(subject, Check);
}

constexpr Rule kRules[] = {{"stream-order", line_rule<stream_order>, 60, false},
                           {"stream-failures", line_rule<stream_failures>, 30, false},
                           {"deadline", line_rule<deadline>, 10, false},
                           {"probe", line_rule<probe>, 20, false},
                           {"thread-tags", line_rule<thread_tags>, 60, false},
                           {"load-notes", line_rule<load_notes>, 30, false}};

}  // namespace

std::span<const Rule> transport_rules() {
  return kRules;
}

}  // namespace smg::check
