// SPDX-License-Identifier: MIT
#pragma once

#include "lock/time.h"

namespace redlock::os {

/// CLOCK_BOOTTIME now. Throws Error (71) if the kernel has no such clock.
lock::Instant boot_now();

}  // namespace redlock::os
