// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>

#include "lock/time.h"

namespace redlock::os {

/// CLOCK_BOOTTIME now. Throws Error (71) if the kernel has no such clock.
lock::Instant boot_now();

/// For a timer on that clock, absolute; kNever disarms it.
itimerspec alarm_at(lock::Instant instant);

}  // namespace redlock::os
