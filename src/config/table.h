// SPDX-License-Identifier: MIT
//
// The one table of everything a user can set. The splitter, CLI11, the environment, the
// configuration file, --help and `redlock config` are driven by it, and the manual pages are
// checked against it. Deliberately absent: any knowledge of how argv is cut up or a file is parsed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "error.h"

namespace redlock::config {

/// The file that is read unless --config or REDLOCK_CONFIG names another.
inline constexpr std::string_view kDefaultFile = "/etc/redlock.toml";

/// What kind of value a row takes, and so how it is written.
enum class Type {
  toggle,    ///< no value
  duration,  ///< config/duration.h
  integer,
  text,
  uri_list,       ///< one URI for each flag; several, separated by white space, in the environment;
                  ///< an array in the file
  secret,         ///< never on the command line, never printed
  shell_command,  ///< -c: as good as the job's own words, so nobody may look inside
  request,        ///< -h, -V: asks for text in place of all else
};

/// Where a value came from. A later one beats an earlier one.
enum class Origin { built_in, file, environment, flag };

/// An origin, and for the file the line.
struct Source {
  Origin origin = Origin::built_in;
  unsigned line = 0;
};

/// The commands that take a row; one bit each.
enum Command : unsigned {
  kRun = 1,
  kSandbox = 2,
  kConfig = 4,
  kCheck = 8,
  kStatus = 16,
  kList = 32,
  kHistory = 64,
  kAcquire = 256,
  kRenew = 512,
  kRelease = 1024
};

/// Every row of the table, in its order.
enum class Key : std::size_t {
  nonblock,
  wait,
  conflict_exit_code,
  progress,
  ttl,
  kill_after,
  max_runtime,
  signal,
  wait_all,
  on_lost,
  min_hold,
  once,
  once_exit_code,
  no_reentrant,
  log_entries,
  record_command,
  command,
  renew_ttl,
  keep_for,
  on_lost_signal,
  server,
  server_timeout,
  server_wait,
  restart_grace,
  prefix,
  password_file,
  password,
  rediscli_auth,
  config_file,
  tls_ca,
  tls_ca_dir,
  tls_cert,
  tls_key,
  tls_sni,
  tls_insecure,
  force,
  now,
  yes,
  wait_gone,
  sandbox_servers,
  since,
  at,
  exclusive,
  shared,
  no_fork,
  close,
  unlock,
  metrics_file,
  verbose,
  quiet,
  json,
  help,
  version,
  count_,
};

/// Settings in the making: what the rows store into before the rules that span several rows are
/// applied (config/resolve.h). Beyond the settings it holds what only those rules need.
struct Draft {
  Settings settings;
  bool nonblocking = false;
  bool shared = false;
  bool no_fork = false;
  bool close = false;
  std::optional<std::string> shell_command;
  int sandbox_servers = 3;
  bool json = false;
  std::optional<int> keep_for;                         ///< acquire: a PID
  int on_lost_signal = 0;                              ///< acquire; 0: none
  bool force = false;                                  ///< release
  bool now = false;                                    ///< release --force
  bool yes = false;                                    ///< likewise
  bool wait_gone = false;                              ///< likewise
  std::optional<std::chrono::milliseconds> since;      ///< history: Unix time
  std::optional<std::chrono::milliseconds> at;         ///< history: Unix time
  std::string config_file;    ///< empty: kDefaultFile, which may be missing
  std::string password;       ///< REDLOCK_PASSWORD
  std::string rediscli_auth;  ///< REDISCLI_AUTH

  /// Where each value came from, and, but for secrets and servers, how it was written there.
  struct Given {
    Source source;
    std::string text;
  };
  Given given[static_cast<std::size_t>(Key::count_)] = {};

  Given& of(Key key) { return given[static_cast<std::size_t>(key)]; }
  [[nodiscard]] const Given& of(Key key) const { return given[static_cast<std::size_t>(key)]; }
  [[nodiscard]] Origin origin(Key key) const { return of(key).source.origin; }
};

struct Row {
  Key key;
  std::string_view name;          ///< the setting's one name, unique: `server-timeout`
  std::string_view flags;         ///< `-w,--wait,--timeout`, or nothing
  const char* environment;        ///< the variable, or null
  std::string_view metavar;       ///< empty: takes no value
  std::string_view group;         ///< heading in --help; empty: not shown there
  std::string_view help;          ///< one line
  std::string_view default_text;  ///< empty: none worth showing
  Type type;
  unsigned commands;  ///< of Command
  /// Throws Error (64) with what is expected; it does not know who asks: use config::store.
  void (*parse)(Draft& draft, std::string_view value);
};

std::span<const Row> table();
const Row& row_of(Key key);

/// Whether `command` has this row: `config` and `check` take all that can stand in a file, as `run`
/// does, and what is their own.
bool takes(Command command, const Row& row);

/// What a row is called in the configuration file, empty if it cannot stand there. It is the name
/// of its variable without REDLOCK_, in small letters: `server-timeout`, `servers`. What concerns
/// one job alone (--wait, -c) has no variable either.
std::string file_key(const Row& row);

/// The row with this flag as it is typed (`-w`, `--wait`) among those `command` takes, or null.
const Row* find_flag(Command command, std::string_view flag);

/// How messages name a row's flag: `-w/--wait`.
std::string flag_name(const Row& row);

/// Where a value that `source` gives to a row stands, as messages begin: `-w/--wait`,
/// `REDLOCK_TTL`,
/// `/etc/redlock.toml:3: ttl`.
std::string place(const Row& row, const Draft& draft, Source source);

/// Stores a value and notes its source. Throws Error that begins with its place (64 for a flag,
/// 78).
void store(const Row& row, Draft& draft, std::string_view value, Source source);

/// The status of an error in a value of this origin: 64 for a flag, 78 for all else.
ExitStatus status_of(Origin origin);

}  // namespace redlock::config
