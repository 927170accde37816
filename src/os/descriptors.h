// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace redlock::os {

/// Checks that this process can open `count` more descriptors. Throws Error (71) if it cannot:
/// otherwise the caller would find out in the middle of its work.
void require_free_descriptors(std::size_t count);

/// The descriptors that this process has open. Where /proc is missing, only those below 1024.
std::vector<int> open_descriptors();

}  // namespace redlock::os
