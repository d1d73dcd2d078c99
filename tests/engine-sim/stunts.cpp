#include "stunts.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "journal.hpp"
#include "reply.hpp"

namespace smg::sim {

namespace {

namespace json = boost::json;

constexpr std::uint64_t kPiece = 64 * 1024;  // a multiple of the word that is made at a time

class BytesExchange final : public Exchange {
 public:
  BytesExchange(Connection& connection, const ApiRequest& request)
      : connection_(connection),
        reply_(connection),
        left_(*request.stunt.body_bytes),
        bytes_(request.stunt.seed) {}

  void start(const ApiRequest& request) {
    std::optional<std::uint64_t> length;
    if (!request.stunt.chunked) length = left_;
    reply_.open(200, "application/octet-stream", length, request.headers);
    connection_.pull();
  }

  void refill(std::string& out) override {
    if (left_ == 0) return reply_.end();
    const std::uint64_t size = std::min(left_, kPiece);
    std::string piece(kChunkGap, ' ');
    piece.reserve(kChunkGap + size + 16);
    bytes_.append(piece, size);
    left_ -= size;
    out.append(reply_.frame(piece));
  }

 private:
  Connection& connection_;
  Reply reply_;
  std::uint64_t left_;
  PseudoRandomBytes bytes_;
};

class FloodExchange final : public Exchange {
 public:
  FloodExchange(Connection& connection, std::uint64_t limit)
      : connection_(connection), reply_(connection), limit_(limit) {}

  void start(const ApiRequest& request) {
    reply_.open(200, "text/event-stream; charset=utf-8", std::nullopt, request.headers);
    connection_.pull();
  }

  void refill(std::string& out) override {
    if (limit_ > 0 && sent_ >= limit_) {
      std::string piece(kChunkGap, ' ');
      piece.append("data: [DONE]\n\n");
      out.append(reply_.frame(piece)).append(reply_.terminator());
      limit_ = 0;
      sent_ = 0;
      done_ = true;
      return;
    }
    if (done_) return reply_.end_framed();
    std::string piece(kChunkGap, ' ');
    for (int i = 0; i < 16; ++i) {
      piece.append(R"(data: {"object":"chat.completion.chunk","choices":[{"index":0,)")
          .append(R"("delta":{"content":" )")
          .append(std::to_string(number_++))
          .append("\"}}]}\n\n");
    }
    sent_ += piece.size() - kChunkGap;
    out.append(reply_.frame(piece));
  }

 private:
  Connection& connection_;
  Reply reply_;
  std::uint64_t limit_;
  std::uint64_t sent_ = 0;
  std::uint64_t number_ = 0;
  bool done_ = false;
};

void echo(Connection& connection, const ApiRequest& api) {
  const Request& request = connection.request();
  json::array headers;
  for (const HeaderField& field : request.headers) {
    headers.push_back(json::array{field.name, field.value});
  }
  json::object answer{{"sha256", sha256_hex(request.body)}, {"length", request.body.size()},
                      {"method", request.method},           {"target", request.target},
                      {"headers", std::move(headers)},      {"connection", connection.id()},
                      {"index", connection.request_index()}};
  if (request.body.size() <= kPiece) answer["body"] = request.body;
  Reply(connection).whole(200, "application/json", json::serialize(answer), api.headers);
}

}  // namespace

void PseudoRandomBytes::append(std::string& out, std::uint64_t count) {
  while (count > 0) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    word ^= word >> 31;
    char raw[sizeof word];
    std::memcpy(raw, &word, sizeof word);
    const std::uint64_t size = std::min<std::uint64_t>(count, sizeof word);
    out.append(raw, size);
    count -= size;
  }
}

void perform_stunt(Connection& connection, const ApiRequest& request) {
  const Stunt& stunt = request.stunt;
  if (stunt.status != 0) {
    Reply(connection).error(stunt.status, "simulated failure", request.headers);
  } else if (stunt.echo) {
    echo(connection, request);
  } else if (stunt.body_bytes) {
    auto exchange = std::make_unique<BytesExchange>(connection, request);
    BytesExchange& started = *exchange;
    connection.set_exchange(std::move(exchange));
    started.start(request);
  } else if (stunt.flood_bytes) {
    auto exchange = std::make_unique<FloodExchange>(connection, *stunt.flood_bytes);
    FloodExchange& started = *exchange;
    connection.set_exchange(std::move(exchange));
    started.start(request);
  }
}

}  // namespace smg::sim
