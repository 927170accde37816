// SPDX-License-Identifier: MIT
//
// REDLOCK_HELD: the locks that the jobs we run in hold, for a redlock inside to join them instead
// of waiting for itself. One word for each, separated by blanks:
//
//   TOKEN:FENCE:FINGERPRINT:KEY
//
// with the fingerprint of the set of servers, and the key in hexadecimal digits. It is no setting,
// and nothing is believed of it: the servers are asked whether the lock has that token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/lock_id.h"

namespace redlock::run {

struct Held {
  std::string token;  ///< 40 hexadecimal digits
  std::uint64_t fence = 0;
};

/// The last hold of that lock in a REDLOCK_HELD. What is not well-formed is passed over.
std::optional<Held> find_held(std::string_view environment, const driver::LockId& id);

/// REDLOCK_HELD with one more: other locks' stay, an older one of the same lock goes.
std::string add_held(std::string_view environment, const driver::LockId& id, const Held& held);

}  // namespace redlock::run
