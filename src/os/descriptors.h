// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace redlock::os {

/// Checks that this process can open `count` more descriptors. Throws Error (71) if it cannot:
/// otherwise the caller would find out in the middle of its work.
void require_free_descriptors(std::size_t count);

}  // namespace redlock::os
