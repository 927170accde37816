// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::force {

/// `redlock release --force`: shows who holds a lock, asks, and takes it away. Returns the exit
/// status. Throws Error (64, 71, 78).
ExitStatus force_release(const cli::ForceRelease& request);

}  // namespace redlock::force
