// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::force {

/// `redlock release --force`: shows the holder of a lock, asks the user, and takes the lock away.
/// Throws Error (64, 71, 78).
ExitStatus force_release(const cli::ForceRelease& request);

}  // namespace redlock::force
