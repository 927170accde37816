// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "lock/acquisition.h"
#include "lock/time.h"

namespace redlock::hold {

/// What `redlock acquire --json` prints where the lock was somebody else's until the limit, as in
/// redlock(1). `now`: the moment at which the attempt was given up.
std::string refused_json(const std::string& lock_name, const lock::Waiting& last,
                         lock::Instant now);

}  // namespace redlock::hold
