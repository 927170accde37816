// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config/settings.h"
#include "inspect/observed.h"

namespace redlock::force {

/// Waits until a quorum of the servers no longer has the lock of the holder that `before` shows,
/// which has a sighting; looks again and again. If the time in which the lock expires at the latest
/// is long over and too few servers answer, there is no result. Throws Error (71, 78).
std::optional<inspect::Observed> wait_gone(const config::Settings& settings,
                                           const inspect::Observed& before);

}  // namespace redlock::force
