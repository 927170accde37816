// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"

namespace redlock::commands {

/// Carries out `redlock renew`. Returns the exit status; throws Error (64, 71, 78).
int renew(const cli::Renew& request);

}  // namespace redlock::commands
