// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "schedule.h"
#include "world.h"

namespace redlock::sim {

/// The same schedule with every fault left out that the violation does not need.
Schedule shrink(World& world, const Schedule& schedule, std::string_view check);

/// The hosts and the settings, for a person.
std::string describe(const Schedule& schedule);

}  // namespace redlock::sim
