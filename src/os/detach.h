// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::os {

/// For a child that outlives the process that started us and must not disturb it: the child gets a
/// session of its own without a terminal, "/" as its directory, and /dev/null for descriptors 0
/// to 2. It closes all other descriptors that we inherited: a process that reads our output to its
/// end, or waits for a lock or pipe above 2, must not wait for the child. Descriptors that we
/// opened are close-on-exec and stay. Throws Error (71).
void detach();

}  // namespace redlock::os
