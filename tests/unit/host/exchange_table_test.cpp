#include "host/routing/exchange_table.hpp"

#include <doctest/doctest.h>

using namespace smg;

namespace {

Exchange* fake(int number) {
  return reinterpret_cast<Exchange*>(static_cast<std::uintptr_t>(number) * 64);
}

}  // namespace

TEST_CASE("a ticket finds its exchange until it is erased, and nothing afterwards") {
  ExchangeTable table;
  const auto first = table.insert(fake(1));
  const auto second = table.insert(fake(2));
  CHECK(table.find(first) == fake(1));
  CHECK(table.find(second) == fake(2));
  table.erase(first);
  CHECK(table.find(first) == nullptr);
  const auto third = table.insert(fake(3));
  CHECK(third != first);
  CHECK(table.find(first) == nullptr);
  CHECK(table.find(third) == fake(3));
}

TEST_CASE("erasing twice, or a number that never was a ticket, does nothing") {
  ExchangeTable table;
  const auto ticket = table.insert(fake(1));
  table.erase(ticket);
  const auto again = table.insert(fake(2));
  table.erase(ticket);
  CHECK(table.find(again) == fake(2));
  table.erase(0xffffffffffffffffu);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(0xffffffffffffffffu) == nullptr);
}
