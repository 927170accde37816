// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::os {

/// Opens /dev/null for each of the descriptors 0, 1 and 2 that was closed at entry (`2>&-`):
/// otherwise a socket could get number 2, and a warning would go to a server. These are
/// close-on-exec, so the job finds them closed, as we did. Throws Error (71).
void occupy_standard_descriptors();

/// Whether standard output was closed at entry, so that all output there is lost. To be called
/// after occupy_standard_descriptors().
bool output_was_closed();

}  // namespace redlock::os
