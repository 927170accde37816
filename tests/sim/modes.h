// SPDX-License-Identifier: MIT
//
// What redlock_sim does besides running schedules one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mutation.h"
#include "schedule.h"
#include "world.h"

namespace redlock::sim {

/// The same schedule with every fault left out that the violation does not need.
Schedule shrink(World& world, const Schedule& schedule, std::string_view check);

/// The hosts and the settings, for a person.
std::string describe(const Schedule& schedule);

/// Looks at all states that two redlocks and three servers can reach within so many steps, in the
/// situation with that name ("": in each), and prints how many there are. False: it has found a
/// violation, with as few steps as possible, and printed it.
bool search(const Mistake& mistake, std::size_t most_steps, std::string_view only);

}  // namespace redlock::sim
