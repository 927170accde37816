// SPDX-License-Identifier: MIT
#include "os/clock.h"

#include <ctime>

#include "error.h"

namespace redlock::os {

lock::Instant boot_now() {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    throw Error(ExitStatus::os_error, "this kernel has no CLOCK_BOOTTIME");
  }
  return lock::Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace redlock::os
