// SPDX-License-Identifier: MIT
//
// From what servers say about themselves to findings: what is good, what is not, and what to do.
// Deliberately absent: asking them (redis/inspector.h), printing (check.cc).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/self_test.h"
#include "config/settings.h"
#include "redis/inspector.h"

namespace redlock::check {

enum class Level {
  ok,
  warning,        ///< locks work, but not as well as they could, or not for ever
  outage,         ///< a failure that may pass by itself
  misconfigured,  ///< a failure until somebody changes something
};

/// What a look at one thing came to.
struct Verdict {
  Level level;
  std::string text;  ///< one line: what it is and, unless ok, what to do
};

struct Finding {
  Level level;
  std::string server;      ///< redacted URI; empty: about all of them
  std::string_view check;  ///< one word
  std::string text;        ///< one line: what it is and, unless ok, what to do
};

/// The lock that is tried.
struct Tried {
  std::string name;
  bool ours;  ///< redlock drew the name at random: nobody else uses it
};

/// What is said about one server. `twin`: an earlier server with the same run_id, or empty.
std::vector<Finding> diagnose(const redis::Endpoint& server, const redis::Inspection& inspection,
                              const config::Settings& settings, const Tried& tried,
                              const std::string& twin);

/// What is said about the set of servers as such.
std::vector<Finding> diagnose_set(const config::Settings& settings);

/// What came of trying it.
std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test,
                                        const config::Settings& settings, const Tried& tried);

/// How long a server is up; none if it does not tell.
std::optional<std::chrono::seconds> uptime(const redis::Inspection& inspection);

/// Whether a server can vote, as far as it told.
bool can_vote(const redis::Inspection& inspection);

}  // namespace redlock::check
