// SPDX-License-Identifier: MIT
//
// Turns the servers' information about themselves into findings: what is right, what is wrong, and
// what to do. Deliberately absent: requests to the servers (redis/ask/inspector.h), output
// (check.cc).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "driver/setup.h"
#include "lock/effect.h"
#include "lock/session.h"
#include "lock/vote.h"
#include "redis/ask/inspector.h"

namespace redlock::look {

enum class Level {
  ok,
  warning,        ///< locks work, but not as well as they could, or not for ever
  outage,         ///< a failure that may pass by itself
  misconfigured,  ///< a failure that lasts until somebody changes something
};

/// The result of one check.
struct Verdict {
  Level level;
  std::string text;  ///< as in Finding
};

struct Finding {
  Level level;
  std::string server;      ///< redacted URI; empty: about all of them
  std::string_view check;  ///< one word
  std::string text;        ///< one line: the fact; and, unless ok, behind "; " what to do
};

/// The lock of the self-test.
struct Tried {
  std::string name;
  bool ours;  ///< redlock drew the name at random: nobody else uses it
};

/// The findings about one server. `twin`: an earlier server with the same run_id, or empty.
std::vector<Finding> diagnose(const redis::Endpoint& server, const redis::Inspection& inspection,
                              const config::Settings& settings, const Tried& tried,
                              const std::string& twin);

/// The findings about the set of servers as a whole.
std::vector<Finding> diagnose_set(const config::Settings& settings);

/// The outcome of acquiring, renewing and releasing a lock.
struct SelfTestResult {
  /// The last answer of one server to each request; none: there was no request, or no answer in
  /// time.
  struct Steps {
    std::optional<lock::Answer> acquired;
    std::optional<lock::Answer> renewed;
    std::optional<lock::Answer> released;
  };

  lock::Outcome outcome;
  std::vector<Steps> servers;
  std::optional<lock::report::Acquired> grant;  ///< none: redlock did not get the lock
  std::optional<lock::Refused> holder;          ///< somebody else's hold, which prevented that
  std::vector<lock::Complaint> complaints;      ///< why there was no quorum
  int interrupted = 0;                          ///< this signal ended the test; 0: none
};

/// A `redlock run` whose job ends as soon as its lock has been renewed once: the same session, the
/// same server set. The first renewal is due after a third of the ttl; the user should not wait for
/// it, so the clock of the self-test jumps to that moment. It only jumps forward: the servers just
/// see an early renewal.
SelfTestResult test_lock(const config::Settings& settings, const driver::LockId& lock);

/// The findings of the self-test.
std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test,
                                        const config::Settings& settings, const Tried& tried);

/// The time since the server's start; none if the server does not report it.
std::optional<std::chrono::seconds> uptime(const redis::Inspection& inspection);

/// Whether a server can vote, by its own information.
bool can_vote(const redis::Inspection& inspection);

}  // namespace redlock::look
