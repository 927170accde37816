// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::inspect {

/// `redlock completions for`: prints the candidates. Asks the servers for the names of locks where
/// the line needs one, for two seconds at most. A server that cannot be asked is passed over in
/// silence.
Exit complete(const cli::Complete& request);

}  // namespace redlock::inspect
