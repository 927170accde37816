// SPDX-License-Identifier: MIT
//
// `redlock sandbox`: private servers for as long as a command runs. Deliberately absent: keeping
// data, TLS, users. Users who need those start a server.
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::sandbox {

/// Starts private Redis or Valkey servers, runs the command with their URIs in REDLOCK_SERVERS, and
/// ends the servers. Gives the command's exit status or signal. Throws Error: 69 if there is no
/// server program or a server is not ready, 71 if the system refused, 126 and 127 for a command
/// that cannot be run.
Exit run_sandbox(const cli::Sandbox& wanted);

}  // namespace redlock::sandbox
