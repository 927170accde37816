// SPDX-License-Identifier: MIT
#pragma once

#include "exit_status.h"
#include "lock/session.h"

namespace redlock::driver {

/// Exit statuses that the user chooses.
struct ChosenStatus {
  int conflict;  ///< somebody else holds the lock
  int done;      ///< --once: somebody has run already
};

/// How redlock ends when a session has ended like that. `job_signal`: what ended the job; 0 for one
/// that ended by itself, or never ran.
Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen, int job_signal = 0);

}  // namespace redlock::driver
