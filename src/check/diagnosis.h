// SPDX-License-Identifier: MIT
//
// Turns the servers' information about themselves into findings: what is right, what is wrong, and
// what to do. Deliberately absent: requests to the servers (redis/inspection/inspector.h), output
// (check.cc).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/self_test.h"
#include "config/settings.h"
#include "redis/inspection/inspector.h"

namespace redlock::check {

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

/// The findings of the self-test.
std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test,
                                        const config::Settings& settings, const Tried& tried);

/// The time since the server's start; none if the server does not report it.
std::optional<std::chrono::seconds> uptime(const redis::Inspection& inspection);

/// Whether a server can vote, by its own information.
bool can_vote(const redis::Inspection& inspection);

}  // namespace redlock::check
