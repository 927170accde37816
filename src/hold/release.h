// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

/// Carries out `redlock release` of a lock by its token. Throws Error (64, 71, 78).
Exit release(const cli::Release& request);

}  // namespace redlock::hold
