// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "exit_status.h"

namespace redlock::run {

/// `redlock run`. Throws Error if redlock cannot run a job.
Exit carry_out(const cli::Run& request);

}  // namespace redlock::run
