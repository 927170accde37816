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
#include "redis/revoker.h"
#include "redis/tls/context.h"

namespace redlock::force {

/// Takes what was seen of a lock away, on all servers at once: on those that agree about it, or, if
/// no quorum does, on all that show something. Throws Error (71, 78).
class Takeover {
 public:
  /// Both must outlive this.
  Takeover(const config::Settings& settings, const inspect::Observed& lock);

  /// Locks of redlock's, from their holders.
  void revoke(const records::Revocation& by);
  /// Where that was done, it is written into the log.
  void log(const records::LogEntry& entry);
  /// Whatever was seen, and what has become of it by revoke(). Where a server had nothing of a lock
  /// that a quorum showed, it is kept from being put back.
  void remove();

  /// What came of the last of them.
  [[nodiscard]] lock::Tally tally() const;
  /// How many servers had nothing, and were not asked by the last of them.
  [[nodiscard]] std::size_t free() const;
  /// On how many servers a holder listened when its lock was revoked.
  [[nodiscard]] std::size_t told() const;
  /// By which servers the last of them was not answered, "SERVER: why", safe to print.
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
  std::vector<std::size_t> targets_;     ///< servers that show what is to be taken
  std::vector<std::size_t> free_;        ///< servers that show nothing
  std::vector<std::optional<lock::Answer>> answers_;
};

}  // namespace redlock::force
