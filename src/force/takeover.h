// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "inspect/observed.h"
#include "lock/revoking.h"
#include "records/log_entry.h"
#include "records/revocation.h"
#include "redis/inspection/revoker.h"
#include "redis/tls/context.h"

namespace redlock::force {

/// Takes a lock away, as redlock has just seen it, on all servers at the same time: on the servers
/// that agree or, if no quorum agrees, on every server that shows a key. Throws Error (71, 78).
class Takeover {
 public:
  /// Both must outlive this.
  Takeover(const config::Settings& settings, const inspect::Observed& lock);

  /// Revokes a lock of redlock's from its holder.
  void revoke(const records::Revocation& by);
  /// Writes the revocation into the log of each server that has revoked the lock.
  void log(const records::LogEntry& entry);
  /// Deletes the keys that redlock has seen, also if revoke() has changed them since. If a server
  /// lacked a lock that a quorum showed, this keeps the holder from putting it back there.
  void remove();

  /// The result of the last of these calls.
  [[nodiscard]] lock::Tally tally() const;
  /// The number of servers that had no key, and that the last call did not ask.
  [[nodiscard]] std::size_t free() const;
  /// The number of servers on which the holder was subscribed when its lock was revoked.
  [[nodiscard]] std::size_t notified() const;
  /// The servers that did not answer the last call, as "SERVER: why", safe to print.
  [[nodiscard]] std::vector<std::string> troubles() const;

 private:
  enum class Deed { revoke, remove };
  void carry_out(Deed deed, const records::Revocation& by);
  [[nodiscard]] std::string token_on(std::size_t server) const;
  void ask(Deed deed, std::size_t server, const records::Revocation& by);

  const config::Settings& settings_;
  const inspect::Observed& lock_;
  std::optional<redis::TlsContext> tls_;
  std::deque<redis::Revoker> revokers_;  // a deque, since they cannot move
  std::vector<std::size_t> targets_;     ///< servers that show the lock
  std::vector<std::size_t> free_;        ///< servers that show no key
  std::vector<std::string> readers_;     ///< of a shared lock: their tokens, on any server
  std::vector<std::optional<lock::Answer>> answers_;
};

}  // namespace redlock::force
