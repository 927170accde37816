// SPDX-License-Identifier: MIT
//
// Turns argv and the environment into a request. Deliberately absent: the work that it asks for.
#pragma once

#include <optional>
#include <variant>

#include "config/table.h"

namespace redlock::cli {

struct Run {
  config::Settings settings;
  std::string name;              ///< of the lock; in each request a valid key, with settings.prefix
  std::vector<std::string> job;  ///< the words for exec, at least one
  std::vector<std::string> also;   ///< further locks, as `name`, each once
  std::vector<std::string> words;  ///< the whole command line after `run`
};

/// The settings, and the options of the command: the others have their defaults.
struct Request : config::Options {
  config::Settings settings;
};

struct ForLock : Request {
  std::string name;
};

struct Acquire : ForLock {};
struct ForceRelease : ForLock {};

/// `redlock hold`. Without `until`, the hold begins to count when redlock gets the lock.
struct Hold : ForLock {
  std::chrono::milliseconds length;  ///< 1 s to 30 days
};

struct Renew : ForLock {
  std::string token;     ///< as acquire prints it; empty: read it from standard input
  bool has_ttl = false;  ///< --ttl was given; else the lock keeps the ttl of its acquire
  /// --for or --until was given, so the lock must be a maintenance hold.
  std::optional<std::chrono::milliseconds> length{};
};

struct Release : ForLock {
  std::string token;  ///< as acquire prints it; empty: read it from standard input
};

/// `redlock release --forget-build`.
struct ForgetBuild : ForLock {};

struct ShowConfig : config::Draft {};

/// `redlock check`. The name is that of the lock to try; empty: a lock that nobody uses.
struct Check : ForLock {};

struct Status : Request {
  std::vector<std::string> names;  ///< at least one
};

struct List : Request {
  std::string pattern;  ///< for the names, as in fnmatch(3); empty: all names
};

struct History : Request {
  std::vector<std::string> names;  ///< names and patterns; empty: all locks

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

struct Candidate {
  std::string word;
  std::string help;  ///< one line; may be empty
};

/// `redlock completions for`, which the scripts call.
struct Complete {
  std::string word = {};                   ///< under the cursor
  std::vector<Candidate> candidates = {};  ///< all of them begin with it
  /// What the shell offers besides: `nothing`; `the-rest`, no blank after a candidate, as the user
  /// continues the word; `files` and `directories`, for the part after the `=` of `--option=...`;
  /// `job`, the job's own completion.
  std::string_view also = "nothing";
  std::size_t job = 0;  ///< the index of the job's first word
  /// To ask the servers for the names of locks, which are candidates, too. No value: the line needs
  /// none, or the settings are not valid.
  std::optional<config::Settings> settings = {};
};

/// --help, --version: the text goes to stdout, the status is 0.
struct Print {
  std::string text;
  bool help = false;  ///< for people: to be fitted to the screen
};

using Invocation = std::variant<Run, Acquire, Hold, Renew, Release, ForceRelease, ForgetBuild,
                                ShowConfig, Check, Status, List, History, Sandbox, Complete, Print>;

/// `args`: argv without argv[0]. Throws Error (64 usage, 78 configuration).
Invocation parse(std::vector<std::string> args, const config::Environment& environment);

/// `redlock completions bash|zsh|fish`, and `redlock completions for WORD...`, which the scripts
/// call. Throws Error (64).
Invocation completions(const std::vector<std::string>& args,
                       const config::Environment& environment);

/// One candidate a line, with its help after a tab. The last line is `:` and Complete::also; `:job`
/// has the index after a blank.
std::string to_text(const Complete& line);

}  // namespace redlock::cli
