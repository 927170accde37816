// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "error.h"

namespace redlock::hold {

// Each throws Error (64, 71, 78).

Exit carry_out(const cli::Acquire& request);
Exit carry_out(const cli::Hold& request);

// By its token, of a lock that another process took.

Exit carry_out(const cli::Release& request);
Exit carry_out(const cli::Renew& request);

/// Forgets the last successful build (--build) on every server.
Exit carry_out(const cli::ForgetBuild& request);

}  // namespace redlock::hold
