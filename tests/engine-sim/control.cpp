#include "control.hpp"

#include <boost/json.hpp>
#include <charconv>
#include <stdexcept>

#include "reply.hpp"

namespace smg::sim {

namespace {

namespace json = boost::json;

constexpr std::string_view kJson = "application/json";

void refuse(Connection& connection, int status, std::string_view why) {
  Reply(connection).whole(status, kJson, json::serialize(json::object{{"error", why}}));
}

}  // namespace

void carry_out(Order order, const json::object& fields, Engines& engines) {
  std::size_t first = 0;
  std::size_t last = engines.size();
  if (const json::value* engine = fields.if_contains("engine"); engine != nullptr) {
    const bool all = engine->is_string() && engine->get_string() == "all";
    const bool index = engine->is_int64() && engine->get_int64() >= 0 &&
                       static_cast<std::size_t>(engine->get_int64()) < engines.size();
    if (!all && !index) {
      throw std::invalid_argument("'engine' is " + json::serialize(*engine) +
                                  ", must be \"all\" or an index below " +
                                  std::to_string(engines.size()));
    }
    if (index) {
      first = static_cast<std::size_t>(engine->get_int64());
      last = first + 1;
    }
  }
  for (std::size_t i = first; i < last; ++i) {
    if (order == Order::Fault) engines[i]->add_fault(fields);
    if (order == Order::Config) engines[i]->configure(fields);
    if (order == Order::Reset) engines[i]->reset();
  }
}

void Control::request_read(Connection& connection) {
  const std::string_view method = connection.request().method;
  if (method == "GET") return get(connection);
  if (method == "POST") return post(connection);
  refuse(connection, 405, "the control port answers GET and POST");
}

void Control::request_refused(Connection& connection, const std::string& reason) {
  const std::string body = json::serialize(json::object{{"error", reason}});
  connection.send("HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: " +
                  std::to_string(body.size()) + "\r\nconnection: close\r\n\r\n" + body);
}

void Control::get(Connection& connection) {
  const Request& request = connection.request();
  if (request.path == "/state") {
    json::array list;
    for (const auto& engine : engines_) list.push_back(engine->state());
    return Reply(connection)
        .whole(200, kJson, json::serialize(json::object{{"engines", std::move(list)}}));
  }
  if (request.path == "/requests") {
    std::size_t index = 0;
    const std::size_t at = request.query.find("engine=");
    if (at != std::string_view::npos) {
      const std::string_view digits = request.query.substr(at + 7);
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
    }
    if (index >= engines_.size()) return refuse(connection, 400, "'engine' is out of range");
    return Reply(connection)
        .whole(200, kJson,
               json::serialize(
                   json::object{{"requests", engines_[index]->journal().requests(false)}}));
  }
  refuse(connection, 404, "GET /state, GET /requests?engine=I");
}

void Control::post(Connection& connection) {
  const Request& request = connection.request();
  Order order = Order::Fault;
  if (request.path == "/config") {
    order = Order::Config;
  } else if (request.path == "/reset") {
    order = Order::Reset;
  } else if (request.path != "/fault") {
    return refuse(connection, 404, "POST /fault, POST /config, POST /reset");
  }
  try {
    const json::value parsed = json::parse(request.body.empty() ? "{}" : request.body.c_str());
    if (!parsed.is_object()) throw std::invalid_argument("the body must be a JSON object");
    carry_out(order, parsed.get_object(), engines_);
  } catch (const std::exception& error) {
    return refuse(connection, 400, error.what());
  }
  Reply(connection).whole(200, kJson, "{}");
}

}  // namespace smg::sim
