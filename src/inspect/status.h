// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::inspect {

/// `redlock status`: shows the holders of these locks, as a quorum sees them. The exit status is 0
/// if no lock is free, 1 if one is free, 69 if the state of one is undecided. Throws Error (71,
/// 78).
Exit status(const cli::Status& request);

}  // namespace redlock::inspect
