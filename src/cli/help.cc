// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/value.h"
#include "diag/text.h"
#include "error.h"

namespace redlock::cli {
namespace {

namespace key = config::key;
using config::Row;

constexpr std::size_t kRight = 26;  ///< where the right-hand column begins

constexpr std::string_view kMainHelp =
    R"(redlock: run a command while holding a lock that is kept on Redis servers, so
that it runs on one host at a time

Examples:
  redlock sandbox -- redlock run demo -- echo 'I hold the lock'
  redlock run -n -S redis://db1 nightly-backup -- /usr/local/bin/backup

Usage: redlock COMMAND [OPTIONS] [ARG...]

Run a command under a lock:
  run      redlock run [OPTIONS] NAME [OPTIONS] [--] COMMAND [ARG...]
           take the lock NAME, run COMMAND, release the lock

Hold a lock between the commands of a script:
  acquire  redlock acquire [OPTIONS] NAME
           take the lock NAME, print its token, and leave the lock held
  renew    redlock renew [OPTIONS] NAME TOKEN
           renew that lock for another ttl
  release  redlock release [OPTIONS] NAME TOKEN
           release that lock

Keep everybody out for maintenance:
  hold     redlock hold [OPTIONS] NAME
           take the lock NAME for a fixed time; no process stays to hold it

See who holds a lock, and stop its job:
  status   redlock status [OPTIONS] NAME...
           show who holds each lock NAME, since when and with what command
  list     redlock list [OPTIONS] [PATTERN]
           list all held locks
  history  redlock history [OPTIONS] [NAME...]
           show who held each lock NAME, when, for how long and how it ended
  release  redlock release --force [OPTIONS] NAME
           stop the holder's job, and release the lock when the job is gone

Servers and settings:
  check    redlock check [OPTIONS] [NAME]
           look for problems of the servers and settings, and try a lock
  config   redlock config [OPTIONS]
           show the settings, and where each of them comes from
  sandbox  redlock sandbox [OPTIONS] [--] [COMMAND [ARG...]]
           start private Redis servers, run COMMAND (default: your shell) with
           REDLOCK_SERVERS set to them, and stop the servers
  completions  redlock completions bash|zsh|fish
           print a script that completes redlock's words in that shell

  -h, --help      show this help; "redlock help run" (or "redlock run --help")
                  shows the options of run
  --help-servers  show the options for the servers, passwords and TLS
  -V, --version   show the version

The manual: man redlock
)";

constexpr Page kPages[] = {
    {config::kRun, "run",
     R"(redlock run: run a command while holding a lock that is kept on Redis servers

Example:
  redlock run -n -S redis://db1 nightly-backup -- /usr/local/bin/backup --full

Usage:
  redlock run [OPTIONS] NAME [OPTIONS] [--] COMMAND [ARG...]
  redlock run [OPTIONS] NAME [OPTIONS] -c 'SHELL COMMAND'
)"},
    {config::kAcquire, "acquire",
     R"(redlock acquire: take a lock, print its token, and end; the lock stays held
for its ttl, or, with --keep-for, as long as a process lives

Example:
  token=$(redlock acquire -w 60 --keep-for $$ deploy) || exit
  trap 'redlock release deploy "$token"' EXIT

Usage:
  redlock acquire [OPTIONS] NAME
)"},
    {config::kRenew, "renew",
     R"(redlock renew: renew a lock that redlock acquire took, for another ttl; or
extend a maintenance hold

Example:
  redlock renew deploy "$token"

Usage:
  redlock renew [OPTIONS] NAME TOKEN

TOKEN is the token that acquire or hold printed, or "-" to read it from
standard input. redlock never shortens a lock.
)"},
    {config::kRelease, "release",
     R"(redlock release: release a lock that redlock acquire or hold took; or, with
--force, take a lock from its holder: the holder stops its job, and the lock is
free when the job is gone; a maintenance hold ends immediately

Example:
  redlock release --force --wait nightly-backup

Usage:
  redlock release [OPTIONS] NAME TOKEN
  redlock release --force [OPTIONS] NAME
  redlock release --forget-build [OPTIONS] NAME

TOKEN is the token that acquire or hold printed, or "-" to read it from
standard input. With --force, redlock shows who holds the lock, and asks you;
without a terminal, give --yes. With --force, it asks a server that does not
answer only once more, and refuses --server-wait.
)"},
    {config::kStatus, "status",
     R"(redlock status: show who holds the locks, since when, with what command, and
for how long the locks last; it changes nothing

Example:
  redlock status nightly-backup

Usage:
  redlock status [OPTIONS] NAME...
)"},
    {config::kList, "list",
     R"(redlock list: list all held locks of redlock; it changes nothing

Example:
  redlock list 'nightly-*'

Usage:
  redlock list [OPTIONS] [PATTERN]

PATTERN must match the whole name, like the shell's patterns for file names:
*, ?, [a-z]. With --prefix, redlock lists only the locks with that prefix, and
shows their names without it.
)"},
    {config::kHistory, "history",
     R"(redlock history: show who held a lock, when, for how long and how it ended,
from the logs of all servers; it changes nothing

Example:
  redlock history --at 02:30 nightly-backup

Usage:
  redlock history [OPTIONS] [NAME...]

NAME may be a pattern, as for "redlock list". Without NAME, redlock shows the
runs of all locks, in one table.
)"},
    {config::kCheck, "check",
     R"(redlock check: look for problems of the configured servers and of the settings,
and take, renew and release a lock

Example:
  redlock check -S redis://db1 -S redis://db2 -S redis://db3

Usage:
  redlock check [OPTIONS] [NAME]
  redlock check --acl USER [OPTIONS] [NAME]

redlock takes the lock NAME for a moment, if nobody holds it; without NAME it
takes a lock that nobody uses.
)"},
    {config::kConfig, "config",
     R"(redlock config: show the settings, and where each of them comes from: a flag,
an environment variable, a line of the configuration file, or the default

Example:
  redlock config --json

Usage:
  redlock config [OPTIONS]
)"},
    {config::kSandbox, "sandbox",
     R"(redlock sandbox: start private Redis servers, run a command that may lock on
them, and stop the servers

Example:
  redlock sandbox -N 1 -- redlock run demo -- echo 'I hold the lock'

Usage:
  redlock sandbox [-N SERVERS|--cluster|--sentinel] [--] [COMMAND [ARG...]]

Without COMMAND, redlock runs your shell. REDLOCK_SERVERS names the servers.
Those of --cluster and --sentinel listen on ports of 127.0.0.1 and want a
password: REDLOCK_SERVERS contains it, and REDISCLI_AUTH for redis-cli.
)"},
    {config::kHold, "hold",
     R"(redlock hold: keep everybody out for maintenance: take a lock for a fixed time,
print its token, and end; no process stays, and nobody renews the lock

Example:
  redlock hold --until 06:00 -m 'new disk in db2' nightly-backup

Usage:
  redlock hold [OPTIONS] NAME

Give --for or --until. If somebody holds the lock, redlock waits, unless -n or
-w is given. The hold ends when its time is over, or by "redlock release": with
the token, or with --force. "redlock renew" extends it.
)"},
};

const Page& page_of(config::Command command) {
  return *std::ranges::find(kPages, command, &Page::command);
}

constexpr std::string_view kTime =
    "\nTIME is in seconds, or with a unit: 90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w.\n";

/// What an exit status says of the commands; of each command in the order of the numbers.
struct Meaning {
  ExitStatus status;
  unsigned commands;  ///< of config::Command
  std::string_view text;
};
constexpr unsigned kPrint = config::kAcquire | config::kHold;
constexpr unsigned kListAll = config::kList | config::kHistory;
constexpr unsigned kWithJob = config::kRun | config::kSandbox;
constexpr unsigned kPlain = config::kRenew | config::kStatus | config::kRun | kListAll;
constexpr Meaning kMeanings[] = {
    {ExitStatus::ok, config::kAcquire, "redlock took the lock and printed its token"},
    {ExitStatus::ok, config::kHold, "the hold has begun, and redlock printed its token"},
    {ExitStatus::ok, config::kRenew, "the lock lasts for another ttl"},
    {ExitStatus::ok, config::kRelease,
     "redlock released the lock; --force: took it, or the lock was free;\n"
     "       --forget-build: no server knows a build any more"},
    {ExitStatus::ok, config::kConfig, "the settings are valid"},
    {ExitStatus::ok, config::kCheck, "no problem found"},
    {ExitStatus::ok, config::kStatus, "none of the locks is free"},
    {ExitStatus::ok, kListAll, "the output is complete; it may be empty"},
    {ExitStatus::conflict, config::kHold,
     "redlock did not get the lock in time (or the status that -E gives)"},
    {ExitStatus::conflict, config::kRun | config::kAcquire,
     "redlock did not get the lock in time, or a newer run superseded this one\n"
     "       (or the status that -E gives)"},
    {ExitStatus::conflict, config::kRelease,
     "a run inside the one with this TOKEN still holds the lock; --force did\n"
     "       nothing: you said no, the lock changed hands since, or it belongs to\n"
     "       another program, which needs --now"},
    {ExitStatus::conflict, config::kCheck,
     "warnings; or a server is not usable, but redlock can take a lock"},
    {ExitStatus::conflict, config::kStatus, "at least one of the locks is free"},
    {ExitStatus::usage, config::kAcquire, "wrong usage, or no process has the PID of --keep-for"},
    {ExitStatus::usage, config::kRelease,
     "wrong usage; or there is no terminal to ask on, and no --yes"},
    {ExitStatus::usage,
     kPlain | config::kHold | config::kConfig | config::kCheck | config::kSandbox, "wrong usage"},
    {ExitStatus::unavailable, config::kAsk | config::kRenew, "too few servers were usable"},
    {ExitStatus::unavailable, config::kRelease,
     "too few servers were usable: the lock may stay held; --forget-build: a\n"
     "       server may still know the build"},
    {ExitStatus::unavailable, config::kCheck,
     "redlock cannot take a lock: too few servers are usable"},
    {ExitStatus::unavailable, config::kStatus,
     "unknown: no quorum of the servers says the same of a lock"},
    {ExitStatus::unavailable, kListAll, "fewer than a quorum of the servers were usable"},
    {ExitStatus::unavailable, config::kSandbox, "a server did not start"},
    {ExitStatus::os_error, kPrint,
     "the operating system refused, or redlock could not print the token"},
    {ExitStatus::os_error, kPlain | config::kRelease | config::kCheck | config::kSandbox,
     "the operating system refused"},
    {ExitStatus::config, config::kCheck,
     "wrong configuration, of redlock or of a server, or no servers configured"},
    {ExitStatus::config, kPlain | kPrint | config::kRelease | config::kConfig,
     "wrong configuration, or no servers configured"},
    {ExitStatus::lost, config::kRun, "the lock was lost while the command ran"},
    {ExitStatus::lost, config::kRenew, "this token does not hold the lock any more"},
    {ExitStatus::lost, config::kRelease, "this TOKEN did not hold the lock any more"},
    {ExitStatus::max_runtime, config::kRun, "--max-runtime passed"},
    {ExitStatus::cannot_execute, kWithJob, "the command cannot be executed"},
    {ExitStatus::not_found, kWithJob, "the command was not found"},
};

std::string exit_statuses(config::Command command) {
  const bool with_job = (command & kWithJob) != 0;
  std::string text = "\nExit status:";
  if (with_job) text += " the command's own (128+N if signal N killed it), or";
  text += '\n';
  for (const Meaning& meaning : kMeanings) {
    if ((meaning.commands & command) == 0) continue;
    std::string number = std::to_string(static_cast<int>(meaning.status));
    number.resize(5, ' ');
    text.append("  ").append(number).append(meaning.text).append("\n");
  }
  return text;
}

std::string describe(const Row& row) {
  std::string text(row.help);
  if (!row.default_text.empty()) text.append(" [").append(row.default_text).append("]");
  if (row.environment != nullptr) text.append(" [$").append(row.environment).append("]");
  return text;
}

std::string entry(std::string_view left, std::string_view right) {
  std::string out;
  std::string line = "  " + std::string(left);
  if (line.size() + 2 > kRight) out = std::exchange(line, {}) + '\n';
  for (const std::string& part : diag::wrap(right, kHelpWidth - kRight)) {
    line.resize(kRight, ' ');
    out.append(std::exchange(line, {})).append(part).append("\n");
  }
  return out;
}

std::string help_foot(config::Command command) {
  std::string foot;
  if (command == config::kRun) {
    foot += "\nEnvironment:\n";
    foot += entry("REDLOCK_NAME, REDLOCK_TOKEN, REDLOCK_FENCE, REDLOCK_FENCES, REDLOCK_HELD",
                  "redlock sets these for the command; with --slots, REDLOCK_SLOT, too");
    foot += kTime;
  }
  return foot + exit_statuses(command) + "\nThe manual: man redlock-" +
         std::string(command_name(command)) + "\n";
}

std::string servers_head(config::Command command) {
  return "redlock " + std::string(command_name(command)) + R"(: the options for the servers

Example:
  redlock )" +
         std::string(command_name(command)) +
         R"( -S redis://db1 -S redis://db2 -S redis://db3 ...

In the environment, white space separates the servers:
  REDLOCK_SERVERS='redis://db1 redis://db2 redis://db3'

/etc/redlock.toml sets these for all users of a host; "redlock config" shows
the settings and their origins, "redlock check" tries them.

All hosts need the same list. Change it by one server at a time, and only when
"redlock check -v" says that the next step may begin: redlock-guarantees(7).
)";
}

std::string servers_foot(config::Command command) {
  std::string foot = "\nEnvironment, besides the variables above:\n";
  for (const Row& row : config::table()) {
    if (row.flags.empty() && takes(command, row)) foot += entry(row.environment, row.help);
  }
  return foot.append(kTime) + "\nThe manual: man redlock, man redlock.toml\n";
}

/// `config` and `check` run no job: there the rows of `run` are settings only, or tell --acl which
/// kind of lock it is.
std::string_view heading_of(config::Command command, const Row& row) {
  if (of_servers(row)) return row.group;
  if ((row.commands & command) == 0) return "Settings";
  const bool of_run = command == config::kCheck && (row.commands & config::kRun) != 0;
  return of_run && row.type != config::Type::request ? config::kPermissions : row.group;
}

/// The rows of `command` that `shown` chooses, below their headings. These are in the order of the
/// table, but those of kLastGroups at the end.
std::string options_of(config::Command command, bool (*shown)(const Row&)) {
  struct Section {
    std::string_view heading;
    std::string entries;
  };
  std::vector<Section> sections;
  for (const Row& row : config::table()) {
    if (row.flags.empty() || row.group.empty() || !takes(command, row) || !shown(row)) continue;
    const std::string_view heading = heading_of(command, row);
    auto section = std::ranges::find(sections, heading, &Section::heading);
    if (section == sections.end()) section = sections.insert(section, {heading, ""});
    std::string left;
    for (const std::string_view flag : config::parts_of(row.flags, ",")) {
      left.append(left.empty() ? "" : ", ").append(flag);
    }
    if (!row.metavar.empty()) left.append(" ").append(row.metavar);
    section->entries += entry(left, describe(row));
  }
  std::ranges::stable_sort(sections, {}, [](const Section& section) {
    const auto* const last = std::ranges::find(config::kLastGroups, section.heading);
    return last == std::end(config::kLastGroups) ? 0 : last - std::begin(config::kLastGroups) + 1;
  });
  std::string out;
  for (const auto& [heading, entries] : sections) {
    out.append("\n").append(heading).append(":\n").append(entries);
  }
  return out;
}

}  // namespace

std::string_view command_name(config::Command command) {
  return page_of(command).name;
}

std::optional<config::Command> find_command(std::string_view word) {
  const auto* const page = std::ranges::find(kPages, word, &Page::name);
  return page == std::end(kPages) ? std::nullopt : std::optional(page->command);
}

std::span<const Page> pages() {
  return kPages;
}

std::string main_help() {
  return std::string(kMainHelp);
}

std::string help(config::Command command) {
  const auto shown = [](const Row& row) {
    return !of_servers(row) || row.name == key::server || row.name == key::help_servers;
  };
  return std::string(page_of(command).head) + options_of(command, shown) + help_foot(command);
}

std::string servers_help(config::Command command) {
  const auto shown = [](const Row& row) {
    return of_servers(row) && row.name != key::help_servers;
  };
  return servers_head(command) + options_of(command, shown) + servers_foot(command);
}

}  // namespace redlock::cli
