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
#include "lock/session.h"
#include "records/holder.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {

/// A lock: its name, and what distinguishes it from every other lock. A command makes one from its
/// request and passes it on.
struct LockId {
  std::string name;     ///< as the user wrote it
  std::string key;      ///< on the servers: the prefix and the name
  std::string servers;  ///< fingerprint of the set of servers
};

LockId lock_id(const config::Settings& settings, std::string name);

/// 16 hex digits. Every host that is configured with the same servers, in whatever order, computes
/// the same digits; any other set (practically) gives others. Credentials do not count.
std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers);

/// Who we are, for the holder record beside the lock. The moment of the acquisition is not known
/// yet.
records::Holder describe_ourselves(const config::Settings& settings, const LockId& lock,
                                   const std::vector<std::string>& job);

/// That record as JSON, as of the moment of each call.
std::function<std::string()> record_of(records::Holder who);

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
