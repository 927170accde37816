// SPDX-License-Identifier: MIT
//
// The commands of this room, one for each request. Each throws Error (71, 78). cli/help.cc has the
// exit statuses.
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::look {

/// Shows the holders of these locks, as a quorum sees them.
Exit carry_out(const cli::Status& request);

/// All locks of redlock's that are not free, one line each.
Exit carry_out(const cli::List& request);

/// The runs of a lock that are in the servers' logs.
Exit carry_out(const cli::History& request);

/// `redlock completions for`: prints the candidates. Asks the servers for the names of locks where
/// the line needs one, for two seconds at most. A server that cannot be asked is passed over in
/// silence.
Exit carry_out(const cli::Complete& request);

/// Examines every configured server; acquires, renews and releases a lock; prints its findings.
Exit carry_out(const cli::Check& request);

/// Shows the settings, without passwords.
Exit carry_out(const cli::ShowConfig& draft);

}  // namespace redlock::look
