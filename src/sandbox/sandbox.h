// SPDX-License-Identifier: MIT
//
// `redlock sandbox`: private servers for as long as a command runs. Deliberately absent: keeping
// data, TCP ports, passwords, replicas. Whoever needs those starts a server.
#pragma once

#include <string>
#include <vector>

#include "exit_status.h"

namespace redlock::sandbox {

/// Starts `servers` (1 to 99) private Redis or Valkey servers, runs `command` (empty: the user's
/// shell) with REDLOCK_SERVERS naming them, and takes them down. Ends as the
/// command does. Throws Error: 64 for a number of servers out of range, 69 without
/// a server program, 71 if the system refused, 126 and 127 for a command that cannot be run.
Exit run_sandbox(int servers, std::vector<std::string> command);

}  // namespace redlock::sandbox
