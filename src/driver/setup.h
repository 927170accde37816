// SPDX-License-Identifier: MIT
//
// From the settings to everything that a command needs to ask for a lock.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "diag/reporter.h"
#include "driver/lock_id.h"
#include "lock/session.h"
#include "redis/connection/timeouts.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {

lock::Plan plan_for(const config::Settings& settings);

diag::Verbosity verbosity_of(const config::Settings& settings);

redis::Timeouts timeouts_of(const config::Settings& settings);

/// The configured servers as voters on that lock. `record`: gives the holder record, as JSON.
/// `held_token`: the token of the lock that an ancestor of this process holds; empty: none holds
/// it. Throws Error (78) if the settings of TLS are of no use.
redis::ServerSet open_servers(const config::Settings& settings, const LockId& lock,
                              std::function<std::string()> record, std::string held_token = {});

/// Checks that the system permits connections to so many servers at the same time. Throws Error
/// (71) if it would refuse them: later the refusal would look like an unreachable server.
void require_connections(std::size_t servers);

/// How messages call the servers.
std::vector<std::string> displays_of(const config::Settings& settings);

}  // namespace redlock::driver
