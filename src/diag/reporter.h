// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "diag/server_list.h"
#include "lock/effect.h"
#include "lock/timing.h"
#include "lock/vote.h"
#include "os/stderr.h"
#include "records/records.h"

namespace redlock::diag {

enum class Verbosity {
  quiet,     ///< only messages that lead to status 69, 78 or 80
  normal,    ///< and warnings; the blocker only on a terminal
  verbose,   ///< and what happens to the lock
  detailed,  ///< and each answer of each server
};

/// What to say about the wait for a lock.
struct WaitNews {
  bool shown = false;           ///< a user watches, so every change is reported
  int conflict_status = 1;      ///< redlock's exit status after a wait in vain
  ServerList list{};            ///< a holder with another one may be a mistake
  std::size_t slots = 0;        ///< of the lock, or 0; a holder with another number is a mistake
  std::size_t max_waiting = 0;  ///< --max-waiting
  std::vector<std::string> where{};  ///< options for a command that we suggest
  bool newest = false;  ///< we need a place in the queue to replace older waiters (--newest)
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

  /// The command has ended, and this many processes of it have not.
  void say_ending(std::size_t processes, lock::Duration kill_in);

  /// A release by token did not reach enough servers.
  void say_not_released(const std::vector<lock::Complaint>& complaints);

  /// Only when detailed: an answer of a server. Always warns of a holder with other settings, and
  /// of a server where --newest has no effect.
  void say_vote(const lock::Reply& reply);

  /// Only when detailed: a notice from a server for the holder. Empty: the subscription has begun.
  void say_notice(lock::ServerIndex server, const std::string& text);

  /// Only when detailed: a waiter's subscription has begun.
  void say_listening(lock::ServerIndex server);

  /// Only when detailed: a wake-up from a server. `in`: see lock::Woken.
  void say_wake_up(lock::ServerIndex server, lock::Duration in, bool by_redisson);

 private:
  [[nodiscard]] std::string list(const std::vector<lock::Complaint>& complaints) const;
  [[nodiscard]] std::vector<lock::Complaint> decisive(
      std::vector<lock::Complaint> complaints) const;
  [[nodiscard]] std::size_t needed() const { return lock::quorum(servers_.size()); }
  [[nodiscard]] Verbosity for_a_user() const;
  template <class... Values>
  void line(Verbosity from, fmt::format_string<Values...> text, Values&&... values);
  void tell(const lock::report::Contended& contended);
  void tell(const lock::report::Superseded& superseded);
  void tell(const lock::report::QuorumMissing& missing);
  void tell(const lock::report::Acquired& acquired);
  void tell(const lock::report::Stopping& stopping);
  void tell(const lock::report::ReleaseUnconfirmed& unconfirmed);
  void tell(const lock::report::Released& released);
  void warn_of_other_settings(const lock::Refused& refusal);
  void compare_lists(const records::Holder& holder);

  os::Stderr& out_;
  std::string release_;  ///< the command that ends a maintenance hold
  std::string lock_;     ///< as sentences name it
  std::vector<std::string> servers_;
  Verbosity verbosity_;
  WaitNews news_;
  std::string other_list_;  ///< "; HOLDER uses another list…", once we have met it
  bool warned_of_other_slots_ = false;
  bool warned_of_no_place_ = false;
  std::string revocation_notice_;  ///< the last notice that the lock was revoked
};

}  // namespace redlock::diag
