// SPDX-License-Identifier: MIT
//
// The one table of everything that a user can set. It drives the splitter, CLI11, the environment,
// the configuration file, --help and `redlock config`; tests compare the manual with it.
// Deliberately absent: how argv is cut up, and how a file is parsed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace redlock::config {

/// redlock reads this file unless --config or REDLOCK_CONFIG names another.
inline constexpr std::string_view kDefaultFile = "/etc/redlock.toml";

/// The kind of a row's value, and so its notation.
enum class Type {
  toggle,    ///< no value
  duration,  ///< config/duration.h
  integer,
  text,
  uri_list,       ///< a flag: one URI; the environment: URIs separated by white space; the file: an
                  ///< array
  secret,         ///< never on the command line, never printed
  shell_command,  ///< -c: part of the job, so redlock must not interpret it
  request,        ///< -h, --help-servers, -V: print a text and do nothing else
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
  kRelease = 1024,
  kHold = 2048
};

/// Every row of the table, in its order.
enum class Key : std::size_t {
  nonblock,
  wait,
  conflict_exit_code,
  progress,
  ttl,
  kill_after,
  hold_for,
  until,
  max_runtime,
  signal,
  wait_all,
  on_lost,
  min_hold,
  once,
  once_exit_code,
  no_reentrant,
  also,
  slots,
  log_entries,
  record_command,
  message,
  command,
  renew_ttl,
  keep_for,
  on_lost_signal,
  server,
  server_timeout,
  server_wait,
  restart_grace,
  replicas,
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
  sandbox_cluster,
  sandbox_sentinel,
  since,
  at,
  last,
  failed,
  svg,
  html,
  exclusive,
  shared,
  no_fork,
  close,
  unlock,
  metrics_file,
  watch,
  interval,
  color,
  verbose,
  quiet,
  each_server,
  nothing_more,
  every_finding,
  only_status,
  json,
  help,
  help_servers,
  version,
  count_,
};

/// The headings that --help shows last, in this order.
inline constexpr std::string_view kLastGroups[] = {
    "Servers",
    "Servers with TLS (rediss://)",
    "Accepted as in flock(1)",
    "Other",
};

struct Draft;  // config/draft.h

struct Row {
  Key key;
  std::string_view name;          ///< the setting's one name, unique: `server-timeout`
  std::string_view flags;         ///< `-w,--wait,--timeout`, or nothing
  const char* environment;        ///< the variable, or null
  std::string_view metavar;       ///< empty: takes no value
  std::string_view group;         ///< heading in --help; empty: --help omits the row
  std::string_view help;          ///< one line
  std::string_view default_text;  ///< empty: none worth showing
  Type type;
  unsigned commands;  ///< of Command
  /// Throws Error (64) with the expected form, without the origin: call config::store instead.
  void (*parse)(Draft& draft, std::string_view value);
};

std::span<const Row> table();
const Row& row_of(Key key);

/// Whether `command` takes this row. `config` and `check` take their own rows and those rows of
/// `run` that have a variable.
bool takes(Command command, const Row& row);

/// Whether the row is about the servers or TLS: --help-servers shows these rows.
bool of_servers(const Row& row);

/// The row's key in the configuration file, empty if the file cannot set it. The key is the name of
/// the variable without REDLOCK_, in lower case: `server-timeout`, `servers`. A row that concerns
/// only one job (--wait, -c) has no variable, so it has no key.
std::string file_key(const Row& row);

/// The row of `command` with this flag (`-w`, `--wait`), or null.
const Row* find_flag(Command command, std::string_view flag);

/// The name of a row's flag in messages: `-w/--wait`.
std::string flag_name(const Row& row);

}  // namespace redlock::config
