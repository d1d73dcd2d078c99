#include "line.hpp"

#include <utility>

#include "endpoint.hpp"
#include "fields.hpp"
#include "streams.hpp"

namespace acme {
namespace {

constexpr uint16_t kUsualPort = 7070;
constexpr int64_t kLoadInterval = 500;  // ms

}  // namespace

void Line::dial() {
  if (connection_ != nullptr) return;
  const auto port = worker_.port == 0 ? kUsualPort : static_cast<uint16_t>(worker_.port);
  connection_ = Connection::open(services_, *this, smg::text(worker_.host), port);
  if (!services_.on_control_loop()) return;
  connection_->send({{"op", "watch_load"}, {"interval_ms", kLoadInterval}});
}

void Line::send(const boost::json::object& frame) {
  dial();
  connection_->send(frame);
}

void Line::close() {
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->close();
}

void Line::received(const boost::json::object& frame) {
  const std::string_view op = text_of(frame, "op");
  if (op == "token" || op == "done" || op == "error") return streams_.received(op, frame);
  services_.fleet.contact(worker_.ref);
  endpoint_.received(op, frame);
}

// Whoever is told may send again at once, over a new connection.
void Line::lost(uint32_t kind, std::string_view why) {
  connection_ = nullptr;
  services_.fleet.connection_failed(worker_.ref, "acme", why);
  streams_.lose(*this, kind, why);
  if (services_.on_control_loop()) endpoint_.lost(why);
}

}  // namespace acme
