// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::os {

/// `bytes` random bytes, at most 256, as lower-case hex digits. Fit for secrets (getentropy(3)).
/// Throws Error (71).
std::string random_hex(std::size_t bytes);

/// A seed for a generator that needs no secrecy (back-off, jitter). Throws Error (71).
std::uint64_t random_seed();

}  // namespace redlock::os
