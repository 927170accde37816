// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::os {

/// Makes sure that descriptors 0, 1 and 2 are taken, by /dev/null where they were closed at entry
/// (`2>&-`): otherwise a socket could get number 2, and a warning would go to a server. Closed on
/// exec, so that the job finds them as closed as we did. Throws Error (71).
void occupy_standard_descriptors();

/// Whether standard output was closed at entry, and what is written there is lost. After
/// occupy_standard_descriptors().
bool output_was_closed();

}  // namespace redlock::os
