// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::check {

/// `redlock check`: examines every configured server; acquires, renews and releases a lock; prints
/// its findings. Throws Error (71).
Exit check(const cli::Check& request);

}  // namespace redlock::check
