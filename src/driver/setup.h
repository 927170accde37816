// SPDX-License-Identifier: MIT
//
// From the settings to everything that a command needs to ask for a lock, or about locks.
#pragma once

#include "config/settings.h"
#include "diag/server_list.h"
#include "lock/session.h"
#include "records/records.h"
#include "redis/connection/questions.h"
#include "redis/servers/server_set.h"
#include "redis/tls/context.h"

namespace redlock::driver {

/// A lock: its name, and what distinguishes it from every other lock.
struct LockId {
  std::string name;     ///< as the user wrote it
  std::string key;      ///< on the servers: the prefix and the name
  std::string servers;  ///< fingerprint of the set of servers
};

LockId lock_id(const config::Settings& settings, std::string name);

/// 16 hex digits, the same on every host with the same servers in whatever order. Credentials do
/// not count.
std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers);

/// The list of servers for records: a server has the same hash on every host that names it so.
diag::ServerList server_list(const config::Settings& settings);

/// Who we are, for the holder record beside the lock; `since` is not known yet.
records::Holder describe_ourselves(const config::Settings& settings,
                                   const std::vector<std::string>& job);

/// That record as JSON, as of the moment of each call.
std::function<std::string()> record_of(records::Holder who);

lock::Plan plan_for(const config::Settings& settings);

redis::Timeouts timeouts_of(const config::Settings& settings);

/// The configured servers as voters on that lock. `ttl`: how long a hold counts without a renewal,
/// which for a maintenance hold is all of it. `record`: gives the holder record, as JSON.
/// `held_token`: of the lock, if another process holds it for us; it also tells the kind of the
/// key. Throws Error (78) if the settings of TLS are not usable.
redis::ServerSet open_servers(const config::Settings& settings, const LockId& lock,
                              std::chrono::milliseconds ttl, std::function<std::string()> record,
                              std::string held_token = {});

/// Throws Error (71) if the system does not permit connections to this many servers at the same
/// time: later the failure would look like an unreachable server.
void require_connections(std::size_t servers);

/// Questions to all configured servers at the same time: a connection to each, numbered like the
/// servers. Throws Error (78) if the settings of TLS are not usable.
class Interview {
 public:
  /// Without `timeouts`: the ttl does not limit the time-out, as no lease depends on the questions.
  explicit Interview(const config::Settings& settings)
      : Interview(settings, {.request = settings.server_timeout}) {}
  Interview(const config::Settings& settings, redis::Timeouts timeouts);

  [[nodiscard]] std::size_t servers() const { return servers_; }
  redis::Questions& questions() { return questions_; }

  /// Waits until all questions are answered or given up. Throws Error (71).
  void finish();

 private:
  std::size_t servers_;
  std::optional<redis::TlsContext> tls_;  ///< only if a server speaks TLS
  redis::Questions questions_;
};

}  // namespace redlock::driver
