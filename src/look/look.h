// SPDX-License-Identifier: MIT
//
// The commands of this room. Each throws Error (71, 78).
#pragma once

#include <string>

#include "cli/command_line.h"
#include "config/table.h"
#include "exit_status.h"

namespace redlock::look {

/// `redlock status`: shows the holders of these locks, as a quorum sees them. The exit status is 0
/// if no lock is free, 1 if one is free, 69 if the state of one is undecided.
Exit status(const cli::Status& request);

/// `redlock list`: all locks of redlock's that are not free, one line each. The exit status is 0,
/// also if there are none, or 69 if fewer than a quorum of servers answered.
Exit list(const cli::List& request);

/// `redlock history`: prints the runs of a lock that are in the servers' logs.
Exit history(const cli::History& request);

/// `redlock completions for`: prints the candidates. Asks the servers for the names of locks where
/// the line needs one, for two seconds at most. A server that cannot be asked is passed over in
/// silence.
Exit complete(const cli::Complete& request);

/// `redlock check`: examines every configured server; acquires, renews and releases a lock; prints
/// its findings.
Exit check(const cli::Check& request);

/// `redlock config`: the settings of `draft` after config::complete(), as a table or, with --json,
/// as JSON. Without passwords.
std::string describe_settings(const config::Draft& draft);

}  // namespace redlock::look
