// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::hold {

/// Carries out `redlock renew`. Throws Error (64, 71, 78).
Exit renew(const cli::Renew& request);

}  // namespace redlock::hold
