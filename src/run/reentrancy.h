// SPDX-License-Identifier: MIT
//
// REDLOCK_HELD: the locks that our ancestors hold. A redlock inside their jobs joins such a lock
// instead of waiting for itself. One entry per lock, separated by blanks:
//
//   TOKEN:FENCE:FINGERPRINT:KEY
//
// FINGERPRINT is that of the set of servers, KEY is in hexadecimal digits. The variable is no
// setting, and redlock does not trust it: it asks the servers whether the lock has that token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/lock_id.h"

namespace redlock::run {

struct Held {
  std::string token;  ///< see lock/token.h
  std::uint64_t fence = 0;
};

/// The last entry of that lock in a REDLOCK_HELD. Skips malformed entries.
std::optional<Held> find_held(std::string_view environment, const driver::LockId& id);

/// REDLOCK_HELD with one more entry: replaces an older one of the same lock, keeps those of other
/// locks.
std::string add_held(std::string_view environment, const driver::LockId& id, const Held& held);

}  // namespace redlock::run
