// SPDX-License-Identifier: MIT
//
// The commands of this room. Each throws Error (71, 78). cli/help.cc has their exit statuses.
#pragma once

#include "cli/command_line.h"
#include "config/table.h"
#include "exit_status.h"

namespace redlock::look {

/// Shows the holders of these locks, as a quorum sees them.
Exit status(const cli::Status& request);

/// All locks of redlock's that are not free, one line each.
Exit list(const cli::List& request);

/// The runs of a lock that are in the servers' logs.
Exit history(const cli::History& request);

/// `redlock completions for`: prints the candidates. Asks the servers for the names of locks where
/// the line needs one, for two seconds at most. A server that cannot be asked is passed over in
/// silence.
Exit complete(const cli::Complete& request);

/// Examines every configured server; acquires, renews and releases a lock; prints its findings.
Exit check(const cli::Check& request);

/// `redlock config`: the settings of `draft` after config::complete(), without passwords.
Exit show_settings(const config::Draft& draft);

}  // namespace redlock::look
