// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "mutation.h"

namespace redlock::sim {

/// Looks at all states that two redlocks and three servers can reach within `most_steps`, in the
/// situation with that name ("": in each), and prints how many there are. False: it has found a
/// violation, with as few steps as possible, and printed it.
bool search(const Mistake& mistake, std::size_t most_steps, std::string_view only);

}  // namespace redlock::sim
