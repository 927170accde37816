// SPDX-License-Identifier: MIT
//
// From the settings to what everyone needs who asks for a lock.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "diag/reporter.h"
#include "lock/session.h"
#include "redis/server_set.h"

namespace redlock::driver {

lock::Plan plan_for(const config::Settings& settings);

diag::Verbosity verbosity_of(const config::Settings& settings);

redis::Timeouts timeouts_of(const config::Settings& settings);

/// How messages call the servers.
std::vector<std::string> displays_of(const config::Settings& settings);

}  // namespace redlock::driver
