#include <atomic>
#include <memory>
#include <vector>

#include "host/check/line.hpp"
#include "host/check/rules.hpp"
#include "host/routing/random.hpp"

namespace smg::check {
namespace {

constexpr const char* kNothing = "after cancel() no call of the sink may follow, from wherever";
constexpr std::uint64_t kNotice = 2000;  // ms for an engine to see that the client has left

using Moment = Stream::Moment;

// What every cancelled exchange must come to; `left`: exchanges that had been left before it.
Finding cancelled(Line& line, Exchange& exchange, int left, const char* when) {
  line.linger();
  const bool noticed =
      !line.built_in() ||
      line.subject().rig.wait([&] { return line.engine().left() > left; }, kNotice);
  line.forget(exchange);
  if (!noticed) {
    return broken("the engine had not noticed after 2 s that the client was gone",
                  "close the connection, or reset the stream, at once");
  }
  return passed(std::string(when) + ": nothing came after it" +
                (line.built_in() ? ", and the engine noticed" : ""));
}

Finding before_head(Line& line) {
  // At once, perhaps before anything is connected, and when the engine has the request.
  auto early = line.exchange("silent");
  line.subject().rig.on_loop(0, [&] {
    line.subject().rig.streams().start(line.instance().transport(), line.endpoint(),
                                       early->request.view(), early->stream);
    line.cancel_here(early->stream);
    early->request.spoil();
  });
  line.linger();
  line.forget(*early);
  const int left = line.built_in() ? line.engine().left() : 0;
  auto exchange = line.exchange("silent");
  line.start(*exchange);
  line.linger();
  line.cancel(*exchange);
  return cancelled(line, *exchange, left, "at once and while the engine thinks");
}

// Cancels inside the first call of that kind.
Finding inside(Line& line, Moment when, const char* name, const char* words) {
  const int left = line.built_in() ? line.engine().left() : 0;
  auto exchange = line.exchange(name);
  exchange->react = [&, when](Stream& stream, Moment moment) {
    if (moment == when) {
      line.cancel_here(stream);
      exchange->request.spoil();
    }
    return SMG_CONTINUE;
  };
  line.start(*exchange);
  if (!line.subject().rig.wait(
          [&] { return exchange->stream.cancelled.load() || exchange->stream.ended(); }, 5000)) {
    line.cancel(*exchange);
    line.forget(*exchange);
    return broken("no answer came within 5 s", "pass on what the engine sends as it comes");
  }
  return cancelled(line, *exchange, left, words);
}

Finding inside_head(Line& line) {
  return inside(line, Moment::head, "endless", "inside head()");
}

Finding inside_data(Line& line) {
  return inside(line, Moment::data, "endless", "inside data()");
}

Finding inside_end(Line& line) {
  auto exchange = line.exchange("stream");
  exchange->react = [&](Stream& stream, Moment moment) {
    if (moment == Moment::end) {
      line.instance().transport().cancel(line.instance().self(), stream.number);
    }
    return SMG_CONTINUE;
  };
  line.start(*exchange);
  const bool ended = line.ends(*exchange, 20'000);
  line.linger();
  line.forget(*exchange);
  if (!ended) return broken("no end came", kNothing);
  return passed("inside end(): no effect");
}

Finding between(Line& line) {
  const int left = line.built_in() ? line.engine().left() : 0;
  auto exchange = line.exchange("endless");
  line.start(*exchange);
  line.subject().rig.wait([&] { return exchange->stream.pieces > 0 || exchange->stream.ended(); },
                          5000);
  line.cancel(*exchange);
  return cancelled(line, *exchange, left, "between two calls of data()");
}

Finding after_end(Line& line) {
  auto exchange = line.exchange("stream");
  line.start(*exchange);
  if (!line.ends(*exchange, 20'000)) return broken("no end came", kNothing);
  const std::uint64_t number = exchange->stream.number;
  for (const std::uint64_t each :
       {number, number, std::uint64_t{0}, number + 12'345, std::uint64_t{0xffffffffffffffff}}) {
    line.cancel_number(0, each);
    line.subject().rig.on_loop(0, [&] {
      line.instance().transport().pause(line.instance().self(), each);
      line.instance().transport().resume(line.instance().self(), each);
    });
  }
  line.linger();
  line.forget(*exchange);
  auto next = line.exchange("stream");
  line.start(*next);
  const bool ended = line.ends(*next, 20'000);
  line.forget(*next);
  if (!ended) return broken("the next exchange did not end", "unknown numbers have no effect");
  return passed("after the end, and of numbers that are none: no effect");
}

Finding twice(Line& line) {
  const int left = line.built_in() ? line.engine().left() : 0;
  auto exchange = line.exchange("endless");
  line.start(*exchange);
  line.subject().rig.wait([&] { return exchange->stream.heads > 0 || exchange->stream.ended(); },
                          5000);
  const std::uint64_t number = exchange->stream.number;
  line.cancel(*exchange);
  line.cancel_number(0, number);
  line.cancel_number(0, number);
  return cancelled(line, *exchange, left, "three times");
}

Finding while_paused(Line& line) {
  const int left = line.built_in() ? line.engine().left() : 0;
  auto exchange = line.exchange("endless");
  line.start(*exchange);
  line.subject().rig.wait([&] { return exchange->stream.pieces > 0 || exchange->stream.ended(); },
                          5000);
  line.pause(*exchange);
  line.linger();
  line.cancel(*exchange);
  line.subject().rig.on_loop(0, [&] {
    line.instance().transport().resume(line.instance().self(), exchange->stream.number);
  });
  return cancelled(line, *exchange, left, "while paused, and resumed after it");
}

Finding pause(Line& line) {
  if (!line.built_in()) return skipped("needs the built-in engine");
  constexpr std::uint64_t kMost = 4u << 20;
  auto exchange = line.exchange("endless");
  exchange->react = [&](Stream& stream, Moment moment) {
    if (moment != Moment::head) return SMG_CONTINUE;
    stream.paused = true;
    return SMG_PAUSE;
  };
  line.start(*exchange);
  line.subject().rig.wait([&] { return exchange->stream.heads > 0; }, 5000);
  std::uint64_t before = 0;
  // Until what was under way has come.
  const bool quiet = line.subject().rig.wait(
      [&] {
        const std::uint64_t seen = exchange->stream.bytes;
        line.linger();
        return seen == exchange->stream.bytes;
      },
      3000);
  before = exchange->stream.bytes;
  line.resume(*exchange);
  const bool goes_on =
      line.subject().rig.wait([&] { return exchange->stream.bytes > before + 65'536; }, 5000);
  line.cancel(*exchange);
  line.linger();
  line.forget(*exchange);
  if (!quiet || before > kMost) {
    return broken(std::to_string(before) + " bytes came though the sink had answered SMG_PAUSE",
                  "stop reading from the engine: its own flow control slows it down");
  }
  if (!goes_on) return broken("nothing came after resume()", "go on where pause() stopped");
  return passed(std::to_string(before) + " bytes came after SMG_PAUSE, all others after resume()");
}

Finding pause_storm(Line& line) {
  if (!line.built_in()) return skipped("needs the built-in engine");
  auto exchange = line.exchange("big");
  std::atomic<bool> over{false};
  exchange->react = [&](Stream& stream, Moment moment) {
    return moment == Moment::data && !over && stream.pieces % 3 == 0 ? SMG_PAUSE : SMG_CONTINUE;
  };
  line.start(*exchange);
  const int rounds = line.subject().command.full ? 1000 : 100;
  for (int i = 0; i < rounds && !exchange->stream.ended(); ++i) {
    line.pause(*exchange);
    if (i % 3 == 0) line.pause(*exchange);
    line.resume(*exchange);
    if (i % 5 == 0) line.resume(*exchange);
  }
  over = true;
  line.resume(*exchange);
  const bool ended = line.ends(*exchange, 10'000);
  if (!ended) line.cancel(*exchange);
  line.forget(*exchange);
  if (!ended) {
    return broken("no end came within 10 s of the last resume()", "one resume() undoes any pauses");
  }
  if (exchange->stream.bytes != EchoEngine::kBigSize) {
    return broken(std::to_string(exchange->stream.bytes) + " bytes came, not " +
                      std::to_string(EchoEngine::kBigSize),
                  "pausing neither loses nor repeats anything");
  }
  return passed("8 MiB came whole through a storm of pauses");
}

Finding storm(Line& line) {
  constexpr const char* kNames[] = {"echo", "stream", "endless", "silent", "big", "drop", "head"};
  const int rounds = line.subject().command.full ? 60 : 10;
  Random random(17);
  int cancels = 0;
  int whole = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<Exchange>> all;
    for (std::uint32_t i = 0; i < 24; ++i) {
      all.push_back(line.exchange(kNames[random.next() % std::size(kNames)]));
      Exchange& exchange = *all.back();
      const std::uint64_t bits = random.next();
      exchange.react = [&line, &exchange, bits](Stream& stream, Moment moment) {
        const bool now =
            (bits % 4 == 0 && moment == Moment::head) || (bits % 4 == 1 && moment == Moment::data);
        if (now) {
          line.cancel_here(stream);
          exchange.request.spoil();
        }
        return SMG_CONTINUE;
      };
      line.start(exchange, i % Subject::kDataLoops);
      if (bits % 4 == 2) line.pause(exchange);
    }
    for (auto& exchange : all) {
      const bool wait = random.next() % 2 == 0;
      if (wait) line.ends(*exchange, 5);
      if (exchange->stream.ended()) {
        ++whole;
      } else {
        line.cancel(*exchange);
        ++cancels;
      }
    }
    line.linger();
    for (auto& exchange : all) line.forget(*exchange);
    // What goes on after cancel() would be in the way of all that follows.
    if (!line.subject().rig.complaints().first(Complaints::Kind::order).empty()) {
      return broken("calls of the sink came after cancel()", kNothing);
    }
  }
  auto last = line.exchange("echo");
  line.start(*last);
  const bool ended = line.ends(*last, 20'000);
  line.forget(*last);
  if (!ended) return broken("after the storm, an exchange did not end", kNothing);
  return passed(std::to_string(cancels) + " streams cancelled and " + std::to_string(whole) +
                " ended, on three loops in every order");
}

template <Finding (*Check)(Line&)>
Finding line_rule(Subject& subject) {
  return on_line(subject, Check);
}

constexpr Rule kRules[] = {{"cancel-before-head", line_rule<before_head>, 20, false},
                           {"cancel-inside-head", line_rule<inside_head>, 20, false},
                           {"cancel-inside-data", line_rule<inside_data>, 20, false},
                           {"cancel-inside-end", line_rule<inside_end>, 30, false},
                           {"cancel-between", line_rule<between>, 20, false},
                           {"cancel-after-end", line_rule<after_end>, 60, false},
                           {"cancel-twice", line_rule<twice>, 20, false},
                           {"cancel-paused", line_rule<while_paused>, 20, false},
                           {"cancel-storm", line_rule<storm>, 120, false},
                           {"pause", line_rule<pause>, 20, false},
                           {"pause-storm", line_rule<pause_storm>, 60, false}};

}  // namespace

std::span<const Rule> cancel_rules() {
  return kRules;
}

}  // namespace smg::check
