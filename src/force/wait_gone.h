// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config/settings.h"
#include "inspect/observed.h"

namespace redlock::force {

/// Waits until a quorum of the servers no longer has the lock with this token; looks again and
/// again. `left`: the time until the lock expires at the latest, none if it never expires. If that
/// time is long over and too few servers answer, there is no result. Throws Error (71, 78).
std::optional<inspect::Observed> wait_gone(const config::Settings& settings,
                                           const std::string& name, const std::string& token,
                                           std::optional<std::chrono::milliseconds> left);

}  // namespace redlock::force
