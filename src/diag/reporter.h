// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lock/effect.h"
#include "lock/vote.h"
#include "os/stderr.h"

namespace redlock::diag {

enum class Verbosity {
  quiet,     ///< only messages that lead to status 69, 78 or 80
  normal,    ///< and warnings; the blocker only on a terminal
  verbose,   ///< and what happens to the lock
  detailed,  ///< and each answer of each server
};

/// What to say about the wait for a lock.
struct WaitNews {
  bool shown = false;       ///< a user watches, so every change is reported
  int conflict_status = 1;  ///< redlock's exit status after a wait in vain
  /// Fingerprint of our set of servers: a holder with another one is a mistake. Empty: not known.
  std::string fingerprint{};
  /// The number of slots that we say the lock has: another number is a mistake. 0: none.
  std::size_t slots = 0;
};

/// Words the events of a lock: one line each on standard error, "redlock: ...".
class Reporter {
 public:
  /// `servers`: the name of each server (its redacted URI), by index.
  Reporter(os::Stderr& out, std::string_view name, std::vector<std::string> servers,
           Verbosity verbosity, WaitNews news = {});

  void say(const lock::Report& report);

  /// The token could not renew or release the lock: the lock has passed on. `now`: to whom.
  void say_not_held(const std::string& now);

  /// A release by token did not reach enough servers.
  void say_not_released(const std::vector<lock::Complaint>& complaints);

  /// An answer of a server. Only said when detailed, except for a holder with other servers or
  /// another number of slots.
  void say_vote(const lock::Reply& reply);

  /// A notice from a server for the holder. Only said when detailed. Empty: the subscription has
  /// begun.
  void say_notice(lock::ServerIndex server, const std::string& text);

  /// A wake-up from a server. Only said when detailed. `in`: as in lock::Woken.
  void say_wake_up(lock::ServerIndex server, lock::Duration in);

 private:
  [[nodiscard]] std::string list(const std::vector<lock::Complaint>& complaints) const;
  void line(Verbosity from, const std::string& text);
  void to_person(const std::string& text);
  void say_contended(const lock::report::Contended& contended);
  void warn_of_other_settings(const lock::Refused& refusal);
  void say_missing(const lock::report::QuorumMissing& missing);
  void say_acquired(const lock::report::Acquired& acquired);
  void say_released(const lock::report::Released& released);
  void say_stopping(const lock::report::Stopping& stopping);

  os::Stderr& out_;
  std::string lock_;  ///< as sentences name it
  std::vector<std::string> servers_;
  Verbosity verbosity_;
  WaitNews news_;
  bool warned_of_other_servers_ = false;
  bool warned_of_other_slots_ = false;
  std::string revocation_notice_;  ///< the last notice that the lock was revoked
};

}  // namespace redlock::diag
