// SPDX-License-Identifier: MIT
#pragma once

#include "cli/command_line.h"
#include "config/settings.h"
#include "driver/setup.h"
#include "error.h"
#include "lock/judgement.h"
#include "observe/observed.h"
#include "records/records.h"
#include "redis/connection/questions.h"

namespace redlock::force {

/// `redlock release --force`: shows the holder of a lock, asks the user, and takes the lock away.
/// Throws Error (64, 71, 78).
ExitStatus carry_out(const cli::ForceRelease& request);

/// Until when --wait looks for the holder of a lock that was like this `now`: for 10 s after all of
/// its keys must have expired. kNever: they have no time to live.
[[nodiscard]] lock::Instant wait_limit(const observe::Observed& seen, lock::Instant now);

/// Takes a lock away, as redlock has just seen it, on all servers at the same time: on the servers
/// that agree or, if no quorum agrees, on every server that shows a key. Throws Error (71, 78).
class Takeover {
 public:
  /// Both must outlive this.
  Takeover(const config::Settings& settings, const observe::Observed& lock);

  void revoke(const records::Holder& by);
  /// Writes the revocation into the log of each server that has revoked the lock.
  void log(const records::LogEntry& entry);
  /// Deletes the keys that redlock has seen, also if revoke() has changed them since. If a server
  /// lacked a lock that a quorum showed, this keeps the holder from putting it back there.
  void remove();

  /// The result of the last of these calls.
  [[nodiscard]] lock::Tally tally() const { return lock::count(answers_, lock_.seen); }
  /// The number of servers that had no key, and that the last call did not ask.
  [[nodiscard]] std::size_t free() const;
  /// The number of servers on which the holder was subscribed when its lock was revoked.
  [[nodiscard]] std::size_t notified() const { return notified_; }
  /// The servers that did not answer the last call, as "SERVER: why; SERVER: why", safe to print.
  [[nodiscard]] std::string troubles() const;
  /// The servers that gave no answer, also when we looked: they may keep what they have.
  [[nodiscard]] std::vector<lock::Complaint> silent() const;

 private:
  using Request = std::function<redis::Flight(std::size_t server)>;
  void carry_out(const std::vector<std::size_t>& servers, const Request& request);
  void ask(std::size_t server, redis::Flight flight, redis::Questions::Take take);
  [[nodiscard]] bool is_redisson(std::size_t server) const;
  [[nodiscard]] std::string token_on(std::size_t server) const;

  const config::Settings& settings_;
  const observe::Observed& lock_;
  driver::Interview interview_;
  std::vector<std::size_t> targets_;  ///< servers that show the lock, or a key that was left over
  std::vector<std::size_t> free_;     ///< servers that show no key
  std::vector<std::string> readers_;  ///< of a shared lock: their tokens, on any server
  std::vector<std::optional<lock::Answer>> answers_;  ///< to the last call, by server
  std::size_t notified_ = 0;
};

}  // namespace redlock::force
