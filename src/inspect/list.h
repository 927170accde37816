// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::inspect {

/// `redlock list`: all locks of redlock's that are not free, one line each. The exit status is 0,
/// also if there are none, or 69 if fewer than a quorum of servers answered. Throws Error (71, 78).
Exit list(const cli::List& request);

}  // namespace redlock::inspect
