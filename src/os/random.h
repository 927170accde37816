// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::os {

/// `bytes` random bytes from getrandom(2) as 2 * `bytes` lower-case hex digits. Fit for secrets.
/// Throws Error (71) if getrandom(2) fails.
std::string random_hex(std::size_t bytes);

/// A seed for a generator that needs no secrecy (back-off, jitter). Throws as random_hex() does.
std::uint64_t random_seed();

}  // namespace redlock::os
