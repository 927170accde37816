// SPDX-License-Identifier: MIT
//
// Turns argv and the environment into a request. Deliberately absent: the work that it asks for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/complete.h"
#include "config/resolve.h"
#include "config/settings.h"

namespace redlock::cli {

struct Run {
  config::Settings settings;
  std::string name;              ///< of the lock; in each request a valid key, with settings.prefix
  std::vector<std::string> job;  ///< the words for exec, at least one
  std::vector<std::string> also;   ///< further locks, as `name`, each once
  std::vector<std::string> words;  ///< the whole command line after `run`
};

/// What every request about one lock has.
struct ForLock {
  config::Settings settings;
  std::string name;
};

struct Acquire : ForLock {
  bool json = false;
  std::optional<int> keep_for;  ///< a PID, at least 1
  int on_lost_signal = 0;       ///< 0: none
};

/// `redlock hold`. The ttl is the length of the hold: 1 s to 30 days.
struct Hold : ForLock {
  /// Unix time. Without a value, the hold begins to count when redlock gets the lock.
  std::optional<std::chrono::milliseconds> until;
  bool json = false;
};

struct Renew : ForLock {
  std::string token;  ///< as acquire prints it; empty: read it from standard input
  bool json = false;
  /// --ttl, --for or --until was given; else the lock keeps the ttl of its acquire.
  bool has_ttl = false;
  bool only_hold = false;  ///< --for or --until was given, so the lock must be a maintenance hold
};

struct Release : ForLock {
  std::string token;  ///< as acquire prints it; empty: read it from standard input
};

/// `redlock release --force`.
struct ForceRelease : ForLock {
  /// --now: redlock also deletes the lock immediately, before the holder has stopped its job.
  bool now = false;
  bool confirmed = false;  ///< --yes
  bool waits = false;      ///< --wait
};

/// `redlock config`: shows the settings with their origins.
struct ShowConfig {
  config::Draft draft;
};

/// `redlock check`. The name is that of the lock to try; empty: a lock that nobody uses.
struct Check : ForLock {
  bool json = false;
};

struct Status {
  config::Settings settings;
  std::vector<std::string> names;  ///< at least one
  bool json = false;
  std::optional<std::chrono::milliseconds> watch;  ///< show it again at this interval
};

struct List {
  config::Settings settings;
  std::string pattern;  ///< for the names, as in fnmatch(3); empty: all names
  bool json = false;
  bool prometheus = false;
  std::optional<std::chrono::milliseconds> watch;  ///< show it again at this interval
};

struct History : config::HistoryOptions {
  config::Settings settings;
  /// Names and patterns; empty: all locks.
  std::vector<std::string> names;
  bool json = false;

  /// The user asks about the one lock of this name.
  [[nodiscard]] bool about_one() const;
};

/// Whether a word of `redlock history` is a pattern.
bool is_pattern(std::string_view word);

struct Sandbox {
  enum class Kind {
    plain,    ///< independent servers
    cluster,  ///< a Redis Cluster
    sentinel  ///< a primary, its replicas and Sentinels
  };
  Kind kind = Kind::plain;
  int servers = 3;                   ///< plain: how many
  std::vector<std::string> command;  ///< empty: the user's shell
};

/// `redlock completions for`, which the completions of the shells call.
struct Complete {
  Completion completion;
  std::string word;  ///< under the cursor
  /// To ask the servers for the names of locks. No value: the line needs none, or the settings are
  /// not valid.
  std::optional<config::Settings> settings;
};

/// --help, --version: the text goes to stdout, the status is 0.
struct Print {
  std::string text;
};

using Invocation = std::variant<Run, Acquire, Hold, Renew, Release, ForceRelease, ShowConfig, Check,
                                Status, List, History, Sandbox, Complete, Print>;

/// `args`: argv without argv[0]. Throws Error (64 usage, 78 configuration).
Invocation parse(std::vector<std::string> args, const config::Environment& environment);

/// `redlock completions bash|zsh|fish`, and `redlock completions for WORD...`, which the scripts
/// call. Throws Error (64).
Invocation completions(const std::vector<std::string>& args,
                       const config::Environment& environment);

}  // namespace redlock::cli
