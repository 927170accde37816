// SPDX-License-Identifier: MIT
#include "commands/chosen_status.h"

#include "exit_status.h"

namespace redlock::commands {

int exit_status(const lock::Outcome& outcome, ChosenStatus chosen) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
    case lock::Outcome::Kind::not_started:
      return outcome.number;
    case lock::Outcome::Kind::conflict:
      return chosen.conflict;
    case lock::Outcome::Kind::done:
      return chosen.done;
    case lock::Outcome::Kind::unavailable:
      return static_cast<int>(ExitStatus::unavailable);
    case lock::Outcome::Kind::misconfigured:
      return static_cast<int>(ExitStatus::config);
    case lock::Outcome::Kind::interrupted:
      return 128 + outcome.number;
    case lock::Outcome::Kind::lost:
      return static_cast<int>(ExitStatus::lost);
    case lock::Outcome::Kind::max_runtime:
      return static_cast<int>(ExitStatus::max_runtime);
  }
  return static_cast<int>(ExitStatus::os_error);
}

}  // namespace redlock::commands
