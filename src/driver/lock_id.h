// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

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

}  // namespace redlock::driver
