// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

/// Carries out `redlock hold`: takes the lock for a fixed time, in which no process holds it or
/// renews it. Throws Error (64, 71, 78).
Exit hold(const cli::Hold& request);

}  // namespace redlock::hold
