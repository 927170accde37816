// SPDX-License-Identifier: MIT
//
// From argv and the environment to what is to be done. Deliberately absent: doing it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/resolve.h"
#include "config/settings.h"

namespace redlock::cli {

/// `redlock run`.
struct Run {
  config::Settings settings;
  std::string name;              ///< the lock's; valid together with settings.prefix
  std::vector<std::string> job;  ///< for exec, at least one word
};

/// `redlock acquire`.
struct Acquire {
  config::Settings settings;
  std::string name;  ///< as in Run
  bool json = false;
  std::optional<int> keep_for;  ///< a PID, at least 1
  int on_lost_signal = 0;       ///< 0: none
};

/// `redlock renew`.
struct Renew {
  config::Settings settings;
  std::string name;
  std::string token;  ///< as acquire prints it; empty: it comes on standard input
  bool json = false;
  bool has_ttl = false;  ///< settings.ttl, instead of the ttl that the lock was taken with
};

/// `redlock release`.
struct Release {
  config::Settings settings;
  std::string name;
  std::string token;  ///< as in Renew
};

/// `redlock release --force`.
struct ForceRelease {
  enum class How {
    revoke,  ///< the holder stops its job and releases the lock
    remove,  ///< and it is deleted at once (--now)
  };
  config::Settings settings;
  std::string name;  ///< as in Run
  How how = How::revoke;
  bool confirmed = false;  ///< --yes
  bool waits = false;      ///< --wait
};

/// `redlock config`: the settings with their origins.
struct ShowConfig {
  config::Draft draft;
};

/// `redlock check`.
struct Check {
  config::Settings settings;
  std::string name;  ///< of the lock to try; empty: one that nobody uses
  bool json = false;
};

/// `redlock status`.
struct Status {
  config::Settings settings;
  std::vector<std::string> names;  ///< at least one, each valid together with settings.prefix
  bool json = false;
};

/// `redlock list`.
struct List {
  config::Settings settings;
  std::string pattern;  ///< for the names, as in fnmatch(3); empty: all
  bool json = false;
};

/// `redlock history`.
struct History {
  config::Settings settings;
  std::string name;  ///< valid together with settings.prefix
  /// Unix time; at most one of both.
  std::optional<std::chrono::milliseconds> since;
  std::optional<std::chrono::milliseconds> at;
  bool json = false;
};

/// `redlock sandbox`.
struct Sandbox {
  int servers = 3;
  std::vector<std::string> command;  ///< empty: the user's shell
};

/// --help, --version: to stdout, exit 0.
struct Print {
  std::string text;
};

using Invocation = std::variant<Run, Acquire, Renew, Release, ForceRelease, ShowConfig, Check,
                                Status, List, History, Sandbox, Print>;

/// `args`: argv without argv[0]. Throws Error (64 usage, 78 configuration).
Invocation parse(std::vector<std::string> args, const config::Environment& environment);

}  // namespace redlock::cli
