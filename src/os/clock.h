// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <ctime>

#include "lock/time.h"

namespace redlock::os {

/// CLOCK_BOOTTIME now. Throws Error (71) if the kernel has no such clock.
lock::Instant boot_now();

/// The time of day, CLOCK_REALTIME: only for messages and records. It may jump.
std::chrono::milliseconds unix_now();

/// For a timer on that clock, absolute; kNever disarms it.
itimerspec alarm_at(lock::Instant instant);

}  // namespace redlock::os
