#include "host/fleet/stream_table.hpp"

#include <doctest/doctest.h>

using namespace smg;

namespace {

struct Stream final : StreamEvents {
  std::int32_t on_head(const smg_response_head&) override { return SMG_CONTINUE; }
  std::int32_t on_data(std::string_view data) override {
    bytes += data.size();
    return SMG_CONTINUE;
  }
  void on_end(const smg_outcome&) override {}
  std::size_t bytes = 0;
};

// An endpoint that nobody is asked at.
struct Nowhere {
  smg_transport_api api{};
  Endpoint endpoint{std::make_shared<TransportRef>(TransportRef{&api, nullptr, {}, {}, nullptr}),
                    nullptr, nullptr, nullptr};
};

}  // namespace

TEST_CASE("a ticket finds its stream until it is erased, and nothing afterwards") {
  Nowhere nowhere;
  Stream one, two, three;
  StreamTable table{0};
  const auto first = table.insert(&one, nowhere.endpoint);
  const auto second = table.insert(&two, nowhere.endpoint);
  CHECK(table.find(first) == &one);
  CHECK(table.find(second) == &two);
  table.erase(first);
  CHECK(table.find(first) == nullptr);
  const auto third = table.insert(&three, nowhere.endpoint);
  CHECK(third != first);
  CHECK(table.find(first) == nullptr);
  CHECK(table.find(third) == &three);
}

TEST_CASE("erasing twice, or a number that never was a ticket, does nothing") {
  Nowhere nowhere;
  Stream one, two;
  StreamTable table{0};
  const auto ticket = table.insert(&one, nowhere.endpoint);
  table.erase(ticket);
  const auto again = table.insert(&two, nowhere.endpoint);
  table.erase(ticket);
  CHECK(table.find(again) == &two);
  table.erase(0xffffffffffffffffu);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(0xffffffffffffffffu) == nullptr);
}

TEST_CASE("the sink reaches the table of the calling thread, and nobody without one") {
  Nowhere nowhere;
  Stream stream;
  const smg_sink& sink = StreamTable::sink();
  std::uint64_t ticket = 0;
  {
    StreamTable table{0};
    ticket = table.insert(&stream, nowhere.endpoint);
    const smg_response_head head{sizeof head, 200, nullptr, 0, 0, -1};
    CHECK(sink.head(ticket, &head) == SMG_CONTINUE);
    CHECK(sink.data(ticket, "abc", 3) == SMG_CONTINUE);
    CHECK(stream.bytes == 3);
  }
  CHECK(sink.data(ticket, "abc", 3) == SMG_CONTINUE);
  CHECK(stream.bytes == 3);
}
