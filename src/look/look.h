// SPDX-License-Identifier: MIT
//
// The commands of this room, one for each request. Each throws Error (71, 78). cli/help.cc has the
// exit statuses.
#pragma once

#include "cli/command_line.h"
#include "error.h"

namespace redlock::look {

Exit carry_out(const cli::Status& request);
Exit carry_out(const cli::List& request);
Exit carry_out(const cli::History& request);
Exit carry_out(const cli::ShowConfig& draft);

/// `redlock completions for`: prints the candidates. Asks the servers for the names of locks where
/// the line needs one, for two seconds at most. A server that cannot be asked is passed over in
/// silence.
Exit carry_out(const cli::Complete& request);

}  // namespace redlock::look
