// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace redlock::os {

/// Whether this process can open so many more descriptors. Throws Error (71) if it cannot: whoever
/// calls it would otherwise find out in the middle of what it does.
void require_free_descriptors(std::size_t count);

}  // namespace redlock::os
