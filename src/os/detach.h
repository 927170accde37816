// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::os {

/// For a child that is to outlive who started us, unnoticed: a session of its own without a
/// terminal, "/" as its directory, /dev/null for descriptors 0 to 2, and none of the others that we
/// were started with: who reads our output to its end, or waits for a lock or pipe above 2, must
/// not wait for the child. Descriptors of our own are close-on-exec and stay. Throws Error (71).
void detach();

}  // namespace redlock::os
