// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"

namespace redlock::commands {

/// Carries out `redlock acquire`. Returns the exit status; throws Error (64, 71, 78).
int acquire(const cli::Acquire& request);

}  // namespace redlock::commands
