// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"

namespace redlock::commands {

/// Carries out `redlock release` of a lock by its token. Returns the exit status; throws Error (64,
/// 71, 78).
int release(const cli::Release& request);

}  // namespace redlock::commands
