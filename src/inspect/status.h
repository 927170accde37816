// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::inspect {

/// `redlock status`: who holds these locks, by the word of a quorum. Returns the exit status: 0 if
/// none is free, 1 if one is, 69 if it cannot be told. Throws Error (71, 78).
Exit status(const cli::Status& request);

}  // namespace redlock::inspect
