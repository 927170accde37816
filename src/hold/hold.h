// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

// Each carries out a command, and throws Error (64, 71, 78).

Exit acquire(const cli::Acquire& request);

/// Takes the lock for a fixed time; no process stays to renew it.
Exit hold(const cli::Hold& request);

// These two are for a lock that another process took, by its token.

Exit release(const cli::Release& request);
Exit renew(const cli::Renew& request);

/// Forgets the last successful build (--build) on every server.
Exit forget_build(const cli::ForgetBuild& request);

}  // namespace redlock::hold
