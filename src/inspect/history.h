// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::inspect {

/// `redlock history`: prints the runs of a lock that are in the servers' logs. Throws Error (71,
/// 78).
Exit history(const cli::History& request);

}  // namespace redlock::inspect
