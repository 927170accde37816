// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

// Each carries out a command, and throws Error (64, 71, 78).

Exit carry_out(const cli::Acquire& request);

/// Takes the lock for a fixed time; no process stays to renew it.
Exit carry_out(const cli::Hold& request);

// These two are for a lock that another process took, by its token.

Exit carry_out(const cli::Release& request);
Exit carry_out(const cli::Renew& request);

}  // namespace redlock::hold
