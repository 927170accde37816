// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/table.h"
#include "error.h"

namespace redlock::config {

/// Where a value came from. A later origin overrides an earlier one.
enum class Origin { built_in, file, environment, flag };

/// An origin, and the line if it is the file.
struct Source {
  Origin origin = Origin::built_in;
  unsigned line = 0;
};

/// Unfinished settings: the rows of the table store into them before config/resolve.h applies the
/// rules that span several rows. A draft also has the values that are not settings: those of one
/// command alone, and those that only the rules need.
struct Draft {
  Settings settings;
  bool nonblocking = false;
  std::vector<std::string> also;  ///< run
  bool no_fork = false;
  bool close = false;
  std::optional<std::string> shell_command;
  int sandbox_servers = 3;
  bool sandbox_cluster = false;
  bool sandbox_sentinel = false;
  bool json = false;
  std::optional<int> keep_for;                        ///< acquire: a PID
  int on_lost_signal = 0;                             ///< acquire; 0: none
  std::optional<std::chrono::milliseconds> hold_for;  ///< hold, renew
  std::optional<std::chrono::milliseconds> until;     ///< hold, renew: Unix time
  bool force = false;                                 ///< release
  bool now = false;                                   ///< release --force
  bool yes = false;                                   ///< release --force
  bool wait_gone = false;                             ///< release --force
  std::optional<std::chrono::milliseconds> since;     ///< history: Unix time
  std::optional<std::chrono::milliseconds> at;        ///< history: Unix time
  std::optional<std::size_t> last;                    ///< history
  bool failed = false;                                ///< history
  std::string svg;                                    ///< history
  std::string html;                                   ///< history
  bool watch = false;                                 ///< status, list
  std::chrono::milliseconds interval{2000};           ///< status, list
  std::string config_file;                            ///< empty: kDefaultFile, which may be missing
  std::string earlier_pipes;                          ///< REDLOCK_STAGE_PIPES
  std::string password;                               ///< REDLOCK_PASSWORD
  std::string rediscli_auth;                          ///< REDISCLI_AUTH

  /// Where each value came from, and its text there, except for secrets and servers.
  struct Given {
    Source source;
    std::string text;
  };
  Given given[static_cast<std::size_t>(Key::count_)] = {};

  Given& of(Key key) { return given[static_cast<std::size_t>(key)]; }
  [[nodiscard]] const Given& of(Key key) const { return given[static_cast<std::size_t>(key)]; }
  [[nodiscard]] Origin origin(Key key) const { return of(key).source.origin; }
};

/// The place of a row's value from `source`, for the beginning of a message: `-w/--wait`,
/// `REDLOCK_TTL`, `/etc/redlock.toml:3: ttl`.
std::string place(const Row& row, const Draft& draft, Source source);

/// Stores a value and its source. Throws Error that begins with the value's place (64 for a flag,
/// else 78).
void store(const Row& row, Draft& draft, std::string_view value, Source source);

/// The status of an error in a value of this origin: 64 for a flag, else 78.
ExitStatus status_of(Origin origin);

}  // namespace redlock::config
