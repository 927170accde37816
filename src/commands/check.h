// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"

namespace redlock::commands {

/// `redlock check`: looks at every configured server, takes, renews and releases a lock, prints
/// what it found and returns the exit status. Throws Error (71).
int check(const cli::Check& request);

}  // namespace redlock::commands
