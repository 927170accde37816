// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lock/acquisition.h"
#include "lock/time.h"

namespace redlock::hold {

/// The output of `redlock acquire --json` if somebody else held the lock until the limit; see
/// redlock-acquire(1). `now`: the moment at which redlock gave up.
std::string refused_json(const std::string& lock_name, const lock::Waiting& last,
                         lock::Instant now);

}  // namespace redlock::hold
