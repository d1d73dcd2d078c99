// Cost of reading, editing and taking text from chat requests of several sizes.
//
// The argument is the body's size in bytes; the turns of the conversation have 400 bytes each up to
// 64 KB and 4000 above.
#include <benchmark/benchmark.h>

#include <string>

#include "host/routing/request/body_edit.hpp"
#include "host/routing/request/request_reader.hpp"
#include "smg/policy.h"

namespace {

using namespace smg;

std::string chat_body(std::size_t size, bool escapes) {
  const std::size_t turn = size > std::size_t{1} << 16 ? 4000 : 400;
  std::string body =
      R"({"model":"meta-llama/Llama-3.1-8B-Instruct","stream":true,"temperature":0.7,"max_tokens":256,"messages":[)";
  body += R"({"role":"system","content":"You are a helpful assistant."})";
  for (bool user = true; body.size() < size; user = !user) {
    body += user ? R"(,{"role":"user","content":")" : R"(,{"role":"assistant","content":")";
    while (body.size() % turn < turn - 40) {
      body +=
          escapes ? "a line of the text, \\\"quoted\\\"\\n" : "a line of the conversation's text. ";
    }
    body.append(turn - body.size() % turn, '.');
    body += "\"}";
  }
  return body + "]}";
}

struct Fixture {
  explicit Fixture(std::string text) : body(std::move(text)), size(body.size()) {
    body.resize(size + kBodySlack);
  }
  std::string_view view() const { return {body.data(), size}; }
  BodyError read(std::uint32_t needs) {
    return reader.read(view(), SMG_ENDPOINT_CHAT, Extractor::validated, needs, facts, input);
  }

  std::string body;
  std::size_t size;
  RequestReader reader;
  RequestFacts facts;
  RoutingInput input;
};

void run(benchmark::State& state, std::uint32_t needs, bool escapes) {
  Fixture fixture(chat_body(static_cast<std::size_t>(state.range(0)), escapes));
  if (fixture.read(needs)) state.SkipWithError("the body was refused");
  for ([[maybe_unused]] auto _ : state) {
    BodyError error = fixture.read(needs);
    benchmark::DoNotOptimize(error);
    benchmark::DoNotOptimize(fixture.facts);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(fixture.size) * state.iterations());
}

void read_facts(benchmark::State& state) {
  run(state, 0, false);
}
void read_text(benchmark::State& state) {
  run(state, SMG_NEEDS_TEXT, false);
}
void read_escaped_text(benchmark::State& state) {
  run(state, SMG_NEEDS_TEXT, true);
}

void generate_ids(benchmark::State& state) {
  std::string body = R"({"input_ids":[1)";
  for (std::int64_t i = 1; i < state.range(0); ++i)
    body.append(1, ',').append(std::to_string(i * 7919 % 128000));
  Fixture fixture(body + "]}");
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(fixture.reader.read(fixture.view(), SMG_ENDPOINT_GENERATE,
                                                 Extractor::plain, SMG_NEEDS_TOKENS, fixture.facts,
                                                 fixture.input));
  }
}

void edit(benchmark::State& state, bool changed) {
  std::string body = chat_body(1024, false);
  if (changed) body.insert(1, R"("top_k":null,"min_p":null,"ignore_eos":false,)");
  Fixture fixture(body);
  if (fixture.read(0)) state.SkipWithError("the body was refused");
  std::string scratch;
  std::vector<smg_view> pieces;
  for ([[maybe_unused]] auto _ : state) {
    pieces.clear();
    const std::uint64_t size = outbound_body(fixture.view(), fixture.facts,
                                             changed ? "canonical-model" : fixture.facts.model,
                                             changed ? 3 : kNoRank, scratch, pieces);
    benchmark::DoNotOptimize(size);
  }
}
void edit_nothing(benchmark::State& state) {
  edit(state, false);
}
void edit_strips_model_and_rank(benchmark::State& state) {
  edit(state, true);
}

BENCHMARK(read_facts)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(400'000);
BENCHMARK(read_text)->Arg(1024)->Arg(4096)->Arg(400'000);
BENCHMARK(read_escaped_text)->Arg(4096)->Arg(400'000);
BENCHMARK(generate_ids)->Arg(1000)->Arg(100'000);
BENCHMARK(edit_nothing);
BENCHMARK(edit_strips_model_and_rank);

}  // namespace

BENCHMARK_MAIN();
