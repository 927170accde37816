// SPDX-License-Identifier: MIT
#include "driver/chosen_status.h"

namespace redlock::driver {

Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen, int job_signal) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
      return {outcome.number, job_signal};
    case lock::Outcome::Kind::not_started:
      return outcome.number;
    case lock::Outcome::Kind::conflict:
      return chosen.conflict;
    case lock::Outcome::Kind::done:
      return chosen.done;
    case lock::Outcome::Kind::unavailable:
      return ExitStatus::unavailable;
    case lock::Outcome::Kind::misconfigured:
      return ExitStatus::config;
    case lock::Outcome::Kind::interrupted:
      return Exit::by_signal(outcome.number);
    case lock::Outcome::Kind::lost:
      return ExitStatus::lost;
    case lock::Outcome::Kind::max_runtime:
      return ExitStatus::max_runtime;
  }
  return ExitStatus::os_error;
}

}  // namespace redlock::driver
