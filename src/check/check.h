// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::check {

/// `redlock check`: looks at every configured server, takes, renews and releases a lock, and prints
/// what it found. Throws Error (71).
Exit check(const cli::Check& request);

}  // namespace redlock::check
