// The classes of the priority scheduler by name, their reservations, and the capacity that these
// share. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "host/admission/admission.hpp"
#include "host/config/config.hpp"

namespace smg {

inline constexpr std::size_t kDefaultRank = 1;

// Its rank; blanks around the name and the case of its letters do not matter.
std::optional<std::size_t> priority_rank(std::string_view name);

// Room for requests: of the healthy workers, and `without_workers` while there are none.
std::uint32_t scheduler_capacity(const FleetCapacity& fleet, std::int64_t without_workers);

// What the class would have of `capacity` if nobody else wanted any.
std::uint32_t reservation(const PriorityClass& of, std::uint32_t capacity);

}  // namespace smg
