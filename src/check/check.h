// SPDX-License-Identifier: MIT
//
// The room of `redlock check`: problems of servers and settings, and a lock for trial. Absent on
// purpose: any change to a server, but for that lock.
#pragma once

#include "cli/command_line.h"
#include "error.h"

namespace redlock::check {

/// Examines every configured server; acquires, renews and releases a lock; prints its findings.
/// Throws Error (71, 78). With --acl, only prints that line.
Exit carry_out(const cli::Check& request);

/// The line of --acl: `ACL SETUSER` with the smallest permissions of redlock-protocol(7), as
/// redis-cli reads it. Asks no server.
std::string acl_line(const cli::Check& request);

}  // namespace redlock::check
