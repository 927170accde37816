// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

/// Carries out `redlock acquire`. Throws Error (64, 71, 78).
Exit acquire(const cli::Acquire& request);

}  // namespace redlock::hold
