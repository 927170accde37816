// SPDX-License-Identifier: MIT
#pragma once

#include "lock/session.h"

namespace redlock::commands {

/// Exit statuses that the user chooses.
struct ChosenStatus {
  int conflict;  ///< somebody else holds the lock
  int done;      ///< --once: somebody has run already
};

/// redlock's own status when a session has ended like that.
int exit_status(const lock::Outcome& outcome, ChosenStatus chosen);

}  // namespace redlock::commands
