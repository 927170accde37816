// SPDX-License-Identifier: MIT
//
// Turns the servers' information about themselves into findings: what is right, what is wrong, and
// what to do. Deliberately absent: requests to the servers (check/inspector.h), output
// (check.cc).
#pragma once

#include "check/inspector.h"
#include "config/settings.h"
#include "driver/setup.h"
#include "lock/effect.h"
#include "lock/session.h"
#include "lock/vote.h"

namespace redlock::check {

enum class Level {
  ok,
  warning,        ///< locks work, but not as well as they could, or only for some time
  outage,         ///< a failure that may pass by itself
  misconfigured,  ///< a failure that lasts until a user changes something
};

/// The result of one check.
struct Verdict {
  Level level;
  std::string text;  ///< one line: the fact; unless ok, then "; " and what to do
};

struct Finding : Verdict {
  std::string server;      ///< redacted URI; empty if about all of them
  std::string_view check;  ///< one word
};

/// The lock of the self-test.
struct Tried {
  std::string name;
  bool ours;  ///< a random name, which nobody else uses
};

/// The findings about one server. `twin`: an earlier server with the same run_id, or empty.
std::vector<Finding> diagnose(const redis::Endpoint& server, const Inspection& inspection,
                              const config::Settings& settings, const Tried& tried,
                              const std::string& twin);
std::vector<Finding> diagnose_set(const config::Settings& settings);

struct SelfTestResult {
  /// The last answer of one server to each request; none if there was no request, or no answer in
  /// time.
  struct Steps {
    std::optional<lock::Answer> acquired;
    std::optional<lock::Answer> renewed;
    std::optional<lock::Answer> released;
    bool explained = false;  ///< another finding says why the server gives no vote
    bool kept_data = false;  ///< over its last restart
  };

  lock::Outcome outcome;
  std::vector<Steps> servers;
  std::optional<lock::report::Acquired> grant;  ///< if redlock got the lock
  std::optional<lock::Refused> holder;          ///< another process had the lock
  std::vector<lock::Complaint> complaints;      ///< why there was no quorum
  int interrupted = 0;                          ///< the signal that ended the test, or 0
};

/// A `redlock run` whose job ends as soon as its lock has been renewed once: the same session, the
/// same server set. The user should not wait for the first renewal, due after a third of the ttl:
/// the clock of the self-test jumps to it, so the servers see an early renewal.
SelfTestResult test_lock(const config::Settings& settings, const driver::LockId& lock);
/// For how long a lock that was used before cannot be taken, although a new one can: the servers
/// that were restarted may have forgotten it. Zero: it can.
std::chrono::seconds known_name_waits(const SelfTestResult& self_test);
std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test,
                                        const config::Settings& settings, const Tried& tried);

/// The time since the server's start; none if the server does not report it.
std::optional<std::chrono::seconds> uptime(const Inspection& inspection);
/// Whether it has keys, and keeps them over a restart.
bool keeps_data(const Inspection& inspection);
/// By the server's own information.
bool can_vote(const Inspection& inspection);

}  // namespace redlock::check
