// SPDX-License-Identifier: MIT
//
// What the kernel knows and lock/ must be told: the time, and random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "lock/time.h"

namespace redlock::os {

/// CLOCK_BOOTTIME now. Throws Error (71) if the kernel has no such clock.
lock::Instant boot_now();

/// The time of day, CLOCK_REALTIME: only for messages and records. It may jump.
std::chrono::milliseconds unix_now();

/// For a timer on that clock, absolute; kNever disarms it.
itimerspec alarm_at(lock::Instant instant);

/// `bytes` random bytes, at most 256, as lower-case hex digits. Fit for secrets (getentropy(3)).
/// Throws Error (71).
std::string random_hex(std::size_t bytes);

/// A seed for a generator that needs no secrecy (back-off, jitter). Throws Error (71).
std::uint64_t random_seed();

}  // namespace redlock::os
