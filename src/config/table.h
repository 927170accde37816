// SPDX-License-Identifier: MIT
//
// The one table of everything that a user can set. It drives the splitter, CLI11, the environment,
// the configuration file, --help and `redlock config`; tests compare the manual with it.
// Deliberately absent: how argv is cut up, and how a file is parsed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace redlock::config {

/// redlock reads this file unless --config or REDLOCK_CONFIG names another.
inline constexpr std::string_view kDefaultFile = "/etc/redlock.toml";

/// The kind of a row's value, and so its notation.
enum class Type {
  toggle,    ///< no value
  duration,  ///< parse_duration() reads it
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

// What several rows have in common. A new command joins those that suit it.
inline constexpr unsigned kAsk = kRun | kAcquire | kHold;
inline constexpr unsigned kKeep = kRun | kAcquire;
inline constexpr unsigned kByToken = kRenew | kRelease;
/// The commands that speak to the configured servers.
inline constexpr unsigned kLook = kAsk | kByToken | kStatus | kList | kHistory;
inline constexpr unsigned kEvery = kLook | kSandbox | kConfig | kCheck;

/// The rows that the code names. The others have their name in the table alone.
namespace key {
inline constexpr std::string_view ttl = "ttl";
inline constexpr std::string_view kill_after = "kill-after";
inline constexpr std::string_view once_exit_code = "once-exit-code";
inline constexpr std::string_view renew_ttl = "renew-ttl";
inline constexpr std::string_view also = "also";
inline constexpr std::string_view server = "server";
inline constexpr std::string_view server_timeout = "server-timeout";
inline constexpr std::string_view server_wait = "server-wait";
inline constexpr std::string_view restart_grace = "restart-grace";
inline constexpr std::string_view password_file = "password-file";
inline constexpr std::string_view password = "password";
inline constexpr std::string_view config_file = "config";
inline constexpr std::string_view sandbox_servers = "servers";
inline constexpr std::string_view interval = "interval";
inline constexpr std::string_view help_servers = "help-servers";
inline constexpr std::string_view version = "version";
}  // namespace key

/// The heading of `check --acl`.
inline constexpr std::string_view kPermissions = "Permissions";

/// The headings that --help shows last, in this order.
inline constexpr std::string_view kLastGroups[] = {
    "Servers",
    "Servers with TLS (rediss://)",
    "Accepted as in flock(1)",
    "Other",
};

struct Draft;

struct Row {
  std::string_view name;          ///< the setting's one name, unique: `server-timeout`
  std::string_view flags;         ///< `-w,--wait,--timeout`, or nothing
  const char* environment;        ///< the variable, or null
  std::string_view metavar;       ///< empty: takes no value
  std::string_view group;         ///< heading in --help; empty: --help omits the row
  std::string_view help;          ///< one line
  std::string_view default_text;  ///< empty: none worth showing
  Type type;
  unsigned commands;  ///< of Command
  /// Throws Error (64) with the expected form, without the origin: call store() instead.
  void (*parse)(Draft& draft, std::string_view value);
};

std::span<const Row> table();

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

/// Where a value came from. A later origin overrides an earlier one.
enum class Origin { built_in, file, environment, flag };

struct Source {
  Origin origin = Origin::built_in;
  unsigned line = 0;      ///< of the file
  std::string text = {};  ///< the value as written there, except for secrets and servers
};

/// The values of options that are not settings, each of the commands named.
struct Options {
  bool json = false;
  std::optional<int> keep_for;                        ///< acquire: a PID, at least 1
  int on_lost_signal = 0;                             ///< acquire; 0: none
  std::optional<std::chrono::milliseconds> hold_for;  ///< hold, renew
  std::optional<std::chrono::milliseconds> until;     ///< hold, renew, history: Unix time
  bool now = false;           ///< release --force: do not wait for the end of the job
  bool yes = false;           ///< release --force: do not ask
  bool wait_gone = false;     ///< release --force
  bool forget_build = false;  ///< release
  std::optional<std::chrono::milliseconds> since;  ///< history: Unix time
  std::optional<std::chrono::milliseconds> at;     ///< history; excludes `since` and `until`
  std::optional<std::size_t> last;  ///< history: the latest runs of each lock; at least 1
  bool failed = false;              ///< history: only runs that failed
  bool refused = false;             ///< history: the runs that gave up instead
  std::string svg;                  ///< history: a file, or "-"; empty: no such picture
  std::string html;                 ///< history: a file, or "-"; empty: no such page
  bool prometheus = false;          ///< list
  std::string acl_user;             ///< check: whose permissions to print; empty: check
  bool watch = false;               ///< status, list: show it again at each interval
  std::chrono::milliseconds interval{2000};
};

/// Unfinished settings: the rows of the table store into them before complete() applies the rules
/// that span several rows. A draft also has the options that only the rules need.
struct Draft : Options {
  Settings settings;
  bool nonblocking = false;
  std::vector<std::string> also;  ///< run
  bool no_fork = false;
  bool close = false;
  std::optional<std::string> shell_command;
  int sandbox_servers = 3;
  bool sandbox_cluster = false;
  bool sandbox_sentinel = false;
  bool force = false;         ///< release
  std::string config_file;    ///< empty: kDefaultFile, which may be missing
  bool no_file = false;       ///< kDefaultFile is missing
  std::string earlier_pipes;  ///< REDLOCK_STAGE_PIPES
  std::string password;       ///< REDLOCK_PASSWORD
  std::string rediscli_auth;  ///< REDISCLI_AUTH

  std::map<std::string_view, Source> given;  ///< where each value came from, by the row's name

  [[nodiscard]] Source of(std::string_view name) const {
    const auto found = given.find(name);
    return found == given.end() ? Source{} : found->second;
  }
  [[nodiscard]] Origin origin(std::string_view name) const { return of(name).origin; }
};

// From a row to its value, and from the draft to the settings: resolve.cc.

/// Where the value of the row came from: `-w/--wait`, `REDLOCK_TTL`, `/etc/redlock.toml:3`. Empty:
/// it is the default.
std::string origin_of(const Draft& draft, std::string_view name);

/// Stores a value and its source. Throws Error that begins with the value's place (64 for a flag,
/// else 78).
void store(const Row& row, Draft& draft, std::string_view value, Source source);

/// Where an earlier redlock keeps what it read from pipes: a line "DESCRIPTOR PATH" for each, with
/// the path as the user wrote it. Only redlock itself sets it.
constexpr const char* kPipesVariable = "REDLOCK_STAGE_PIPES";

/// Returns an environment variable, or null if it is not set. In the program this is getenv(3).
using Environment = std::function<const char*(const char* variable)>;

/// Empty if it is not set.
std::string variable(const Environment& environment, const char* name);

/// Completes `draft`, which has the flags: the environment sets what no flag has set, and the
/// configuration file sets the rest. Then applies the rules for the servers, and gives each the
/// first password in the order of redlock(1), ENVIRONMENT. Reads these files and no others. Throws
/// Error (64, 78).
void complete(Draft& draft, const Environment& environment);

/// Throws Error (64, 78) if the completed draft's grace is too long for its ttl. For the commands
/// that stop or signal a job: others must work although an environment suits no job.
void check_kill_after(const Draft& draft);

/// Throws Error (64, 78) if the completed draft's ttl is too long for its restart grace. For the
/// commands that take or renew a lock with this ttl: whoever has a lock must be able to release it.
void check_restart_grace(const Draft& draft);

// The configuration file: toml_file.cc.

enum class Content { secret, settings };

/// Stores the values in `text`, the content of draft.config_file, for the settings that neither a
/// flag nor a variable has set. Returns whether the text contains a password. Throws Error (78)
/// with file and line for any mistake, except in the value of a setting that is set already.
Content read_toml(std::string_view text, Draft& draft);

}  // namespace redlock::config
