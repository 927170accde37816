// SPDX-License-Identifier: MIT
//
// `redlock sandbox`: private servers for as long as a command runs. Deliberately absent: keeping
// data, TCP ports, passwords, replicas. Users who need those start a server.
#pragma once

#include <string>
#include <vector>

#include "exit_status.h"

namespace redlock::sandbox {

/// Starts `servers` (1 to 99) private Redis or Valkey servers, runs `command` (empty: the user's
/// shell) with their URIs in REDLOCK_SERVERS, and ends the servers. Gives the command's exit status
/// or signal. Throws Error: 64 for a number of servers out of range, 69 without a server program,
/// 71 if the system refused, 126 and 127 for a command that cannot be run.
Exit run_sandbox(int servers, std::vector<std::string> command);

}  // namespace redlock::sandbox
