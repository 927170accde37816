// SPDX-License-Identifier: MIT
//
// From the settings to what everyone needs who asks for a lock.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/settings.h"
#include "diag/reporter.h"
#include "lock/session.h"
#include "redis/timeouts.h"

namespace redlock::driver {

lock::Plan plan_for(const config::Settings& settings);

diag::Verbosity verbosity_of(const config::Settings& settings);

redis::Timeouts timeouts_of(const config::Settings& settings);

/// Whether so many servers can be asked at the same time. Throws Error (71) if the system would
/// refuse it: later it would look as if a server could not be reached.
void require_connections(std::size_t servers);

/// How messages call the servers.
std::vector<std::string> displays_of(const config::Settings& settings);

}  // namespace redlock::driver
