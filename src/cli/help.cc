// SPDX-License-Identifier: MIT
#include "cli/help.h"

#include <algorithm>

#include "cli/suggest.h"

namespace redlock::cli {
namespace {

constexpr std::size_t kRight = 26;  ///< where the right-hand column begins
constexpr std::size_t kWidth = 79;

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
           take the lock NAME for a fixed time, with no process left behind

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

constexpr std::string_view kRunHead =
    R"(redlock run: run a command while holding a lock that is kept on Redis servers

Example:
  redlock run -n -S redis://db1 nightly-backup -- /usr/local/bin/backup --full

Usage:
  redlock run [OPTIONS] NAME [OPTIONS] [--] COMMAND [ARG...]
  redlock run [OPTIONS] NAME [OPTIONS] -c 'SHELL COMMAND'
)";

constexpr std::string_view kAcquireHead =
    R"(redlock acquire: take a lock, print its token, and end; the lock stays held
for its ttl, or, with --keep-for, as long as a process lives

Example:
  token=$(redlock acquire -w 60 --keep-for $$ deploy) || exit
  trap 'redlock release deploy "$token"' EXIT

Usage:
  redlock acquire [OPTIONS] NAME
)";

constexpr std::string_view kAcquireFoot = R"(
Exit status:
  0    redlock took the lock and printed its token
  1    redlock did not get the lock in time (or the status that -E gives)
  64   wrong usage, or no process has the PID of --keep-for
  69   too few servers were usable
  71   the operating system refused, or redlock could not print the token
  78   wrong configuration, or no servers configured
)";

constexpr std::string_view kHoldHead =
    R"(redlock hold: keep everybody out for maintenance: take a lock for a fixed time,
print its token, and end; no process stays behind, and nobody renews the lock

Example:
  redlock hold --until 06:00 -m 'new disk in db2' nightly-backup

Usage:
  redlock hold [OPTIONS] NAME

Give --for or --until. If somebody holds the lock, redlock waits, unless -n or
-w is given. The hold ends when its time is over, or by "redlock release": with
the token, or with --force. "redlock renew" extends it.
)";

constexpr std::string_view kHoldFoot = R"(
Exit status:
  0    the hold has begun, and redlock printed its token
  1    redlock did not get the lock in time (or the status that -E gives)
  64   wrong usage
  69   too few servers were usable
  71   the operating system refused, or redlock could not print the token
  78   wrong configuration, or no servers configured
)";

constexpr std::string_view kRenewHead =
    R"(redlock renew: renew a lock that redlock acquire took, for another ttl; or
extend a maintenance hold

Example:
  redlock renew deploy "$token"

Usage:
  redlock renew [OPTIONS] NAME TOKEN

TOKEN is the token that acquire or hold printed, or "-" to read it from
standard input. redlock never shortens a lock.
)";

constexpr std::string_view kRenewFoot = R"(
Exit status:
  0    the lock lasts for another ttl
  64   wrong usage
  69   too few servers were usable
  71   the operating system refused
  78   wrong configuration, or no servers configured
  80   this token does not hold the lock any more
)";

constexpr std::string_view kReleaseHead =
    R"(redlock release: release a lock that redlock acquire or hold took; or, with
--force, take a lock from its holder: the holder stops its job, and the lock is
free when the job is gone; a maintenance hold ends at once

Example:
  redlock release --force --wait nightly-backup

Usage:
  redlock release [OPTIONS] NAME TOKEN
  redlock release --force [OPTIONS] NAME

TOKEN is the token that acquire or hold printed, or "-" to read it from
standard input. With --force, redlock shows who holds the lock, and asks you;
without a terminal, give --yes. With --force, it asks a server that does not
answer only once more, and refuses --server-wait.
)";

constexpr std::string_view kReleaseFoot = R"(
Exit status:
  0    redlock released the lock; --force: took it, or the lock was free
  1    --force did nothing: you said no, the lock changed hands meanwhile, or
       it belongs to another program, which needs --now
  64   wrong usage; or there is no terminal to ask on, and no --yes
  69   too few servers were usable: the lock may stay held
  71   the operating system refused
  78   wrong configuration, or no servers configured
  80   this TOKEN did not hold the lock any more
)";

constexpr std::string_view kConfigHead =
    R"(redlock config: show the settings, and where each of them comes from: a flag,
an environment variable, a line of the configuration file, or the default

Example:
  redlock config --json

Usage:
  redlock config [OPTIONS]
)";

constexpr std::string_view kConfigFoot = R"(
Exit status:
  0    the settings are valid
  64   wrong usage
  78   wrong configuration, or no servers configured
)";

constexpr std::string_view kCheckHead =
    R"(redlock check: look for problems of the configured servers and of the settings,
and take, renew and release a lock

Example:
  redlock check -S redis://db1 -S redis://db2 -S redis://db3

Usage:
  redlock check [OPTIONS] [NAME]

redlock takes the lock NAME for a moment, if nobody holds it; without NAME it
takes a lock that nobody uses.
)";

constexpr std::string_view kCheckFoot = R"(
Exit status:
  0    no problem found
  1    warnings; or a server is not usable, but redlock can take a lock
  64   wrong usage
  69   redlock cannot take a lock: too few servers are usable
  71   the operating system refused
  78   wrong configuration, of redlock or of a server, or no servers configured
)";

constexpr std::string_view kStatusHead =
    R"(redlock status: show who holds the locks, since when, with what command, and
for how long the locks last; it changes nothing

Example:
  redlock status nightly-backup

Usage:
  redlock status [OPTIONS] NAME...
)";

constexpr std::string_view kStatusFoot = R"(
Exit status:
  0    none of the locks is free
  1    at least one of the locks is free
  64   wrong usage
  69   unknown: no quorum of the servers says the same of a lock
  71   the operating system refused
  78   wrong configuration, or no servers configured
)";

constexpr std::string_view kListHead =
    R"(redlock list: list all held locks of redlock; it changes nothing

Example:
  redlock list 'nightly-*'

Usage:
  redlock list [OPTIONS] [PATTERN]

PATTERN must match the whole name, like the shell's patterns for file names:
*, ?, [a-z]. With --prefix, redlock lists only the locks with that prefix, and
shows their names without it.
)";

// Of list and history.
constexpr std::string_view kAllThereIsFoot = R"(
Exit status:
  0    the output is complete; it may be empty
  64   wrong usage
  69   fewer than a quorum of the servers were usable
  71   the operating system refused
  78   wrong configuration, or no servers configured
)";

constexpr std::string_view kHistoryHead =
    R"(redlock history: show who held a lock, when, for how long and how it ended,
from the logs of all servers; it changes nothing

Example:
  redlock history --at 02:30 nightly-backup

Usage:
  redlock history [OPTIONS] [NAME...]

NAME may be a pattern, as for "redlock list". Without NAME, redlock shows the
runs of all locks, in one table.
)";

constexpr std::string_view kSandboxHead =
    R"(redlock sandbox: start private Redis servers, run a command that may lock on
them, and stop the servers

Example:
  redlock sandbox -N 1 -- redlock run demo -- echo 'I hold the lock'

Usage:
  redlock sandbox [-N SERVERS|--cluster|--sentinel] [--] [COMMAND [ARG...]]

Without COMMAND, redlock runs your shell. REDLOCK_SERVERS names the servers.
Those of --cluster and --sentinel listen on ports of 127.0.0.1 and want a
password: REDLOCK_SERVERS contains it, and REDISCLI_AUTH for redis-cli.
)";

constexpr std::string_view kRunFoot = R"(
TIME is in seconds, or with a unit: 90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w.

Exit status: the command's own (128+N if signal N killed it), or
  1    redlock did not get the lock in time (or the status that -E gives)
  64   wrong usage
  69   too few servers were usable
  71   the operating system refused
  78   wrong configuration, or no servers configured
  80   the lock was lost while the command ran
  124  --max-runtime passed
  126  the command cannot be executed
  127  the command was not found
)";

constexpr std::string_view kSandboxFoot = R"(
Exit status: the command's own (128+N if signal N killed it), or
  64   wrong usage
  69   a server did not start
  71   the operating system refused
  126  the command cannot be executed
  127  the command was not found
)";

/// A command's texts before and after its options.
struct Page {
  config::Command command;
  std::string_view head;
  std::string_view exit_status;
};
constexpr Page kPages[] = {
    {config::kRun, kRunHead, kRunFoot},
    {config::kAcquire, kAcquireHead, kAcquireFoot},
    {config::kHold, kHoldHead, kHoldFoot},
    {config::kRenew, kRenewHead, kRenewFoot},
    {config::kRelease, kReleaseHead, kReleaseFoot},
    {config::kConfig, kConfigHead, kConfigFoot},
    {config::kCheck, kCheckHead, kCheckFoot},
    {config::kStatus, kStatusHead, kStatusFoot},
    {config::kList, kListHead, kAllThereIsFoot},
    {config::kHistory, kHistoryHead, kAllThereIsFoot},
    {config::kSandbox, kSandboxHead, kSandboxFoot},
};

const Page& page_of(config::Command command) {
  return *std::ranges::find(kPages, command, &Page::command);
}

/// Removes from `text` as many words as fit into `width`, and returns them.
std::string_view take_line(std::string_view& text, std::size_t width) {
  std::size_t end = text.size();
  if (end > width) {
    end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string main_help() {
  return std::string(kMainHelp);
}

std::string_view help_head(config::Command command) {
  return page_of(command).head;
}

std::string help_foot(config::Command command) {
  std::string foot;
  if (command == config::kRun) {
    foot += "\nEnvironment:\n";
    foot += entry("REDLOCK_NAME, REDLOCK_TOKEN, REDLOCK_FENCE, REDLOCK_FENCES, REDLOCK_HELD",
                  "redlock sets these for the command; with --slots, "
                  "REDLOCK_SLOT, too");
  }
  foot += page_of(command).exit_status;
  return foot + "\nThe manual: man redlock-" + std::string(command_name(command)) + "\n";
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

All hosts need the same list. Start a new server a minute earlier, and change
the list on all hosts while no job holds a lock: see redlock-guarantees(7).
)";
}

std::string servers_foot(config::Command command) {
  std::string foot = "\nEnvironment, besides the variables above:\n";
  for (const config::Row& row : config::table()) {
    if (row.flags.empty() && takes(command, row)) foot += entry(row.environment, row.help);
  }
  return foot + R"(
TIME is in seconds, or with a unit: 90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w.

The manual: man redlock, man redlock.toml
)";
}

std::string describe(const config::Row& row) {
  std::string text(row.help);
  if (!row.default_text.empty()) text.append(" [").append(row.default_text).append("]");
  if (row.environment != nullptr) text.append(" [$").append(row.environment).append("]");
  return text;
}

std::string entry(std::string_view left, std::string_view right) {
  std::string out = "  ";
  out += left;
  bool below = out.size() + 2 > kRight;
  while (!right.empty()) {
    if (below) {
      out += '\n';
      out.append(kRight, ' ');
    } else {
      out.append(kRight - out.size(), ' ');
    }
    out += take_line(right, kWidth - kRight);
    below = true;
  }
  return out + '\n';
}

}  // namespace redlock::cli
