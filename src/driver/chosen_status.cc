// SPDX-License-Identifier: MIT
#include "driver/chosen_status.h"

namespace redlock::driver {

Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen, int job_signal) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
      return {outcome.number, job_signal};
    case lock::Outcome::Kind::not_started:
      return {outcome.number};
    case lock::Outcome::Kind::conflict:
      return {chosen.conflict};
    case lock::Outcome::Kind::done:
      return {chosen.done};
    case lock::Outcome::Kind::unavailable:
      return {static_cast<int>(ExitStatus::unavailable)};
    case lock::Outcome::Kind::misconfigured:
      return {static_cast<int>(ExitStatus::config)};
    case lock::Outcome::Kind::interrupted:
      return {128 + outcome.number, outcome.number};
    case lock::Outcome::Kind::lost:
      return {static_cast<int>(ExitStatus::lost)};
    case lock::Outcome::Kind::max_runtime:
      return {static_cast<int>(ExitStatus::max_runtime)};
  }
  return {static_cast<int>(ExitStatus::os_error)};
}

}  // namespace redlock::driver
