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

/// The answer to lock::Spawn if the system refuses something that the job needs.
inline constexpr lock::JobFailedToStart kSystemRefused{static_cast<int>(ExitStatus::os_error)};

/// How redlock ends when a session has this outcome. `job_signal`: the signal that ended the job; 0
/// if the job ended by itself or never ran.
Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen, int job_signal = 0);

}  // namespace redlock::driver
