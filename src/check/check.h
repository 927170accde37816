// SPDX-License-Identifier: MIT
//
// The room of `redlock check`: problems of servers and settings, and a lock for trial. Absent on
// purpose: any change to a server, but for that lock.
#pragma once

#include "cli/command_line.h"
#include "error.h"

namespace redlock::check {

/// Examines every configured server; acquires, renews and releases a lock; prints its findings.
/// Throws Error (71, 78).
Exit carry_out(const cli::Check& request);

}  // namespace redlock::check
