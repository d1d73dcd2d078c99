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

}  // namespace

TEST_CASE("a ticket finds its stream until it is erased, and nothing afterwards") {
  Stream one, two, three;
  StreamTable table{Series()};
  const auto first = table.insert(&one);
  const auto second = table.insert(&two);
  CHECK(table.find(first) == &one);
  CHECK(table.find(second) == &two);
  table.erase(first);
  CHECK(table.find(first) == nullptr);
  const auto third = table.insert(&three);
  CHECK(third != first);
  CHECK(table.find(first) == nullptr);
  CHECK(table.find(third) == &three);
}

TEST_CASE("erasing twice, or a number that never was a ticket, does nothing") {
  Stream one, two;
  StreamTable table{Series()};
  const auto ticket = table.insert(&one);
  table.erase(ticket);
  const auto again = table.insert(&two);
  table.erase(ticket);
  CHECK(table.find(again) == &two);
  table.erase(0xffffffffffffffffu);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(0xffffffffffffffffu) == nullptr);
}

TEST_CASE("the sink reaches the table of the calling thread, and nobody without one") {
  Stream stream;
  const smg_sink& sink = StreamTable::sink();
  std::uint64_t ticket = 0;
  {
    StreamTable table{Series()};
    ticket = table.insert(&stream);
    CHECK(sink.data(ticket, "abc", 3) == SMG_CONTINUE);
    CHECK(stream.bytes == 3);
  }
  CHECK(sink.data(ticket, "abc", 3) == SMG_CONTINUE);
  CHECK(stream.bytes == 3);
}
