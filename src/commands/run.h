// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"

namespace redlock::commands {

/// `redlock run`: returns the exit status. Throws Error where no job can be run.
int run(const cli::Run& request);

}  // namespace redlock::commands
