// Classes of the priority scheduler: names, capacity, reservations.
#include <doctest/doctest.h>

#include "host/admission/priority_class.hpp"

namespace smg {
namespace {

TEST_CASE("5.2.1 classes go by name, whatever the case and the blanks around") {
  CHECK(priority_rank("bulk") == 0);
  CHECK(priority_rank("default") == 1);
  CHECK(priority_rank(" Interactive\t") == 2);
  CHECK(priority_rank("SYSTEM") == 3);
  for (const char* other : {"", " ", "systems", "sys tem", "bul", "0", "high", "default,system"}) {
    CHECK_FALSE(priority_rank(other));
  }
}

FleetCapacity fleet(std::initializer_list<std::string_view> labels) {
  FleetCapacity made;
  for (const auto label : labels) made.add(label);
  return made;
}

TEST_CASE("5.2.3 without a healthy worker the capacity is the limit if that fits, else 1024") {
  CHECK(scheduler_capacity({}, 40) == 40);
  CHECK(scheduler_capacity({}, 65535) == 65535);
  CHECK(scheduler_capacity({}, 65536) == 1024);
  CHECK(scheduler_capacity({}, -1) == 1024);
  CHECK(scheduler_capacity({}, 0) == 1024);
}

TEST_CASE("5.2.3 workers bring what their label says, those without one 64") {
  CHECK(scheduler_capacity(fleet({"16", "32"}), 5) == 48);
  CHECK(scheduler_capacity(fleet({"16", ""}), 5) == 80);
  CHECK(scheduler_capacity(fleet({"", "", ""}), 5) == 192);
  for (const char* useless : {"0", "-3", "8x", "many", " 8", "99999999999"}) {
    CHECK(scheduler_capacity(fleet({useless}), 5) == 64);
  }
  CHECK(scheduler_capacity(fleet({"60000", "60000"}), 5) == 65535);
}

TEST_CASE("5.2.4 a reservation is the greater of floor and share, at most the capacity") {
  PriorityClass of;
  of.reserved_floor = 32;
  CHECK(reservation(of, 1000) == 32);
  CHECK(reservation(of, 8) == 8);
  of.reserved_per_slot = 0.25;
  CHECK(reservation(of, 1000) == 250);
  CHECK(reservation(of, 1001) == 251);
  CHECK(reservation(of, 100) == 32);
  of.reserved_floor = 0;
  of.reserved_per_slot = 0.1;
  for (std::uint32_t tens = 0; tens <= 6553; ++tens) CHECK(reservation(of, tens * 10) == tens);
  of.reserved_per_slot = 1;
  CHECK(reservation(of, 65535) == 65535);
}

TEST_CASE("5.2 the classes start as the table says") {
  const auto classes = PriorityScheduler::defaults_of_classes();
  CHECK(classes[0] == PriorityClass{0, 0.0, 1024, 300, 120, false});
  CHECK(classes[1] == PriorityClass{0, 0.10, 512, 60, 30, false});
  CHECK(classes[2] == PriorityClass{128, 0.25, 256, 30, 5, true});
  CHECK(classes[3] == PriorityClass{32, 0.0, 64, 30, 5, true});
}

}  // namespace
}  // namespace smg
