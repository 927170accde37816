// SPDX-License-Identifier: MIT
//
// The one table of everything a user can set. The splitter, CLI11, the environment and --help are
// driven by it, and the manual page is checked against it. Deliberately absent: a configuration
// file (`key` and `origin` are what one will need), and any knowledge of how argv is cut up.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "error.h"

namespace redlock::config {

/// What kind of value a row takes, and so how it is written.
enum class Type {
  toggle,    ///< no value
  duration,  ///< config/duration.h
  integer,
  text,
  uri_list,       ///< one URI for each flag; several, separated by white space, in the environment
  secret,         ///< never on the command line, never printed
  shell_command,  ///< -c: as good as the job's own words, so nobody may look inside
  request,        ///< -h, -V: asks for text in place of all else
};

/// Where a value came from. A later one beats an earlier one.
enum class Origin { built_in, environment, flag };

/// The commands that take a row; one bit each.
enum Command : unsigned { kRun = 1, kSandbox = 2 };

/// Every row of the table, in its order.
enum class Key : std::size_t {
  nonblock,
  wait,
  conflict_exit_code,
  ttl,
  kill_after,
  max_runtime,
  min_hold,
  once,
  once_exit_code,
  no_reentrant,
  command,
  server,
  server_timeout,
  server_wait,
  restart_grace,
  prefix,
  password_file,
  password,
  rediscli_auth,
  sandbox_servers,
  exclusive,
  shared,
  no_fork,
  close,
  unlock,
  verbose,
  quiet,
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
  std::string password;       ///< REDLOCK_PASSWORD
  std::string rediscli_auth;  ///< REDISCLI_AUTH
  Origin origins[static_cast<std::size_t>(Key::count_)] = {};

  Origin& origin(Key key) { return origins[static_cast<std::size_t>(key)]; }
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

/// The row with this flag as it is typed (`-w`, `--wait`) among those `command` takes, or null.
const Row* find_flag(Command command, std::string_view flag);

/// How messages name a row's flag: `-w/--wait`.
std::string flag_name(const Row& row);

/// Stores a value and notes its origin. Throws Error naming the flag (64) or the variable (78).
void store(const Row& row, Draft& draft, std::string_view value, Origin origin);

/// The status of an error in a value of this origin: 64 for a flag, 78 for all else.
ExitStatus status_of(Origin origin);

}  // namespace redlock::config
