// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "lock/effect.h"
#include "lock/vote.h"
#include "os/stderr.h"

namespace redlock::diag {

enum class Verbosity {
  quiet,    ///< only what ends in 69, 78 or 80
  normal,   ///< and warnings; who is in the way only on a terminal
  verbose,  ///< and every step
};

/// What is said of the wait for a lock.
struct WaitNews {
  bool shown = false;       ///< somebody looks on, so that every change is told
  int conflict_status = 1;  ///< redlock's exit status when the wait was in vain
};

/// Words for what happens: one line each on standard error, "redlock: ...".
class Reporter {
 public:
  /// `servers`: how each server is called (redacted URIs), by index.
  Reporter(os::Stderr& out, std::string lock_name, std::vector<std::string> servers,
           Verbosity verbosity, WaitNews news = {});

  void say(const lock::Report& report);

  /// A lock could not be renewed or released with its token: it has passed on. `now`: to whom.
  void say_not_held(const std::string& now);

  /// A release by token did not reach enough servers.
  void say_not_released(const std::vector<lock::Complaint>& complaints);

  /// An answer of a server, told when verbose.
  void say_vote(const lock::Reply& reply);

  /// Word from a server to the holder, told when verbose; empty: it can be heard from now on.
  void say_word(lock::ServerIndex server, const std::string& text);

  /// A server wakes a waiter, told when verbose. `next`: another one was woken first.
  void say_call(lock::ServerIndex server, bool next);

 private:
  [[nodiscard]] std::string list(const std::vector<lock::Complaint>& complaints) const;
  void line(Verbosity from, const std::string& text);
  void to_person(const std::string& text);
  void say_contended(const lock::report::Contended& contended);
  void say_missing(const lock::report::QuorumMissing& missing);
  void say_acquired(const lock::report::Acquired& acquired);
  void say_stopping(const lock::report::Stopping& stopping);

  os::Stderr& out_;
  std::string lock_;
  std::vector<std::string> servers_;
  Verbosity verbosity_;
  WaitNews news_;
  std::string heard_;  ///< the last word to the holder that the lock is revoked
};

}  // namespace redlock::diag
