// SPDX-License-Identifier: MIT
#include "config/table.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "config/draft.h"
#include "config/duration.h"
#include "config/setters.h"
#include "config/value.h"
#include "lock/token.h"
#include "redis/requests/keys.h"

namespace redlock::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds kLongestGrace = 48h;  // twice the longest ttl
constexpr int kMostReplicas = 15;
constexpr nanoseconds kLongestHold = 720h;  // the servers keep the fence of an idle lock as long

constexpr std::string_view kWaiting = "Waiting for the lock";
constexpr std::string_view kLasting = "How long the lock lasts";
constexpr std::string_view kHolding = "Running the command";
constexpr std::string_view kServers = kLastGroups[0];
constexpr std::string_view kRuns = "Which runs";
constexpr std::string_view kTls = kLastGroups[1];
constexpr std::string_view kForcing = "Taking a lock from its holder";
constexpr std::string_view kSandboxing = "Options";
constexpr std::string_view kCompatible = kLastGroups[2];
constexpr std::string_view kOther = kLastGroups[3];

/// The commands that ask for a lock.
constexpr unsigned kAsk = kRun | kAcquire | kHold;
/// The same, and renew the lock.
constexpr unsigned kKeep = kRun | kAcquire;
constexpr unsigned kByToken = kRenew | kRelease;
/// The commands that speak to the configured servers.
constexpr unsigned kLook = kAsk | kByToken | kStatus | kList | kHistory;
constexpr unsigned kEvery = kLook | kSandbox | kConfig | kCheck;

constexpr Row kTable[] = {
    {Key::nonblock, "nonblock", "-n,--nonblock,--nb,--nonblocking", nullptr, "", kWaiting,
     "do not wait: give up if the lock is held", "", Type::toggle, kAsk,
     [](Draft& draft, std::string_view) { draft.nonblocking = true; }},
    {Key::wait, "wait", "-w,--wait,--timeout", nullptr, "TIME", kWaiting,
     "wait no longer than this; 0 is -n", "for ever", Type::duration, kAsk,
     [](Draft& draft, std::string_view value) { draft.settings.wait = to_duration(value); }},
    {Key::conflict_exit_code, "conflict-exit-code", "-E,--conflict-exit-code", nullptr, "N",
     kWaiting, "exit status when redlock did not get the lock in time", "1", Type::integer, kAsk,
     [](Draft& draft, std::string_view value) {
       draft.settings.conflict_exit_code = to_integer(value, 0, 255);
     }},
    {Key::progress, "progress", "--progress", "REDLOCK_PROGRESS", "auto|always|never", kWaiting,
     "show who holds the lock, our place in the queue and the time; auto: live on a terminal, a "
     "line each minute where CI is set",
     "auto", Type::text, kAsk, set_progress},

    {Key::ttl, "ttl", "--ttl", "REDLOCK_TTL", "TIME", kLasting,
     "how long the lock lasts without renewal, and so how long it outlives a dead host", "30s",
     Type::duration, kKeep, set_ttl},
    {Key::kill_after, "kill-after", "--kill-after", "REDLOCK_KILL_AFTER", "TIME", kLasting,
     "grace: how long a job that lost its lock has from the first signal to KILL; at most ttl/3",
     "5s or ttl/6, whichever is less", Type::duration, kKeep,
     [](Draft& draft, std::string_view value) {
       draft.settings.kill_after = in_milliseconds(to_duration(value));
     }},
    {Key::hold_for, "for", "--for", nullptr, "TIME", kLasting,
     "how long a maintenance hold lasts, from now on: 90, 5m, 1h30m, 3d; at most 30d", "",
     Type::duration, kHold | kRenew,
     [](Draft& draft, std::string_view value) {
       draft.hold_for = std::chrono::ceil<milliseconds>(to_duration(value, {1s, kLongestHold}));
     }},
    {Key::until, "until", "--until", nullptr, "WHEN", kLasting,
     "when it ends: 02:30 (the next time), tomorrow, 2026-11-20, 2026-11-20T02:30", "", Type::text,
     kHold | kRenew,
     [](Draft& draft, std::string_view value) {
       draft.until = to_future_moment(value, kLongestHold);
     }},
    {Key::max_runtime, "max-runtime", "--max-runtime", nullptr, "TIME", kHolding,
     "stop the command after this long", "no limit", Type::duration, kRun, set_max_runtime},
    {Key::signal, "signal", "--signal", nullptr, "SIGNAL", kHolding,
     "the first signal to stop the command with: a name or number", "TERM", Type::text, kRun,
     [](Draft& draft, std::string_view value) { draft.settings.stop_signal = to_signal(value); }},
    {Key::wait_all, "wait-all", "--wait-all", nullptr, "", kHolding,
     "hold the lock until every process that the command started has ended", "", Type::toggle, kRun,
     [](Draft& draft, std::string_view) { draft.settings.wait_all = true; }},
    {Key::on_lost, "on-lost", "--on-lost", "REDLOCK_ON_LOST", "COMMAND", kHolding,
     "run this with /bin/sh when redlock stops the command because of the lock", "", Type::text,
     kRun, [](Draft& draft, std::string_view value) { draft.settings.on_lost = value; }},
    {Key::min_hold, "min-hold", "--min-hold", nullptr, "TIME", kHolding,
     "keep the lock at least this long from the start on, even if the command ends sooner", "0",
     Type::duration, kRun,
     [](Draft& draft, std::string_view value) {
       draft.settings.min_hold =
           std::chrono::ceil<milliseconds>(to_duration(value, {0ns, kLongestHold}));
     }},
    {Key::once, "once", "--once", nullptr, "TIME", kHolding,
     "do nothing if a successful run began less than this ago", "", Type::duration, kRun,
     [](Draft& draft, std::string_view value) {
       draft.settings.once =
           std::chrono::ceil<milliseconds>(to_duration(value, {1s, kLongestHold}));
     }},
    {Key::once_exit_code, "once-exit-code", "--once-exit-code", nullptr, "N", kHolding,
     "exit status when --once found such a run", "0", Type::integer, kRun,
     [](Draft& draft, std::string_view value) {
       draft.settings.once_exit_code = to_integer(value, 0, 255);
     }},
    {Key::no_reentrant, "no-reentrant", "--no-reentrant", nullptr, "", kHolding,
     "do not join a lock that an outer redlock run holds", "", Type::toggle, kRun,
     [](Draft& draft, std::string_view) { draft.settings.reentrant = false; }},
    {Key::also, "also", "--also", nullptr, "NAME", kHolding,
     "hold this lock, too; repeat for each further lock", "", Type::text, kRun,
     [](Draft& draft, std::string_view value) {
       redis::check_lock_name(value);
       draft.also.emplace_back(value);
     }},
    {Key::log_entries, "log-entries", "--log-entries", "REDLOCK_LOG_ENTRIES", "N", kOther,
     "how many lines the servers keep in the lock's log, see redlock history; 0: none", "1000",
     Type::integer, kAsk | kByToken,
     [](Draft& draft, std::string_view value) {
       draft.settings.log_entries = static_cast<unsigned>(to_integer(value, 0, 100'000));
     }},
    {Key::record_command, "record-command", "--record-command", "REDLOCK_RECORD_COMMAND",
     "full|name|none", kOther,
     "how much of the command the servers keep, for status and history to show", "full", Type::text,
     kAsk | kRelease, set_record_command},
    {Key::message, "message", "-m,--message", nullptr, "TEXT", kOther,
     "why you take the lock; waiters, status, list and history can read it", "", Type::text, kAsk,
     [](Draft& draft, std::string_view value) { draft.settings.message = value; }},
    {Key::command, "command", "-c,--command", nullptr, "COMMAND", kHolding,
     "run this one word with the shell ($SHELL, or /bin/sh)", "", Type::shell_command, kRun,
     [](Draft& draft, std::string_view value) { draft.shell_command = value; }},

    {Key::renew_ttl, "renew-ttl", "--ttl", nullptr, "TIME", kLasting, "the new ttl",
     "the ttl that it was taken with", Type::duration, kRenew,
     [](Draft& draft, std::string_view value) {
       set_ttl(draft, value);
       draft.of(Key::ttl).source = {Origin::flag};  // goes before the environment's and the file's
     }},
    {Key::keep_for, "keep-for", "--keep-for", nullptr, "PID", kLasting,
     "leave a process behind that renews the lock until process PID ends, and then releases it", "",
     Type::integer, kAcquire,
     [](Draft& draft, std::string_view value) {
       draft.keep_for = to_integer(value, 1, std::numeric_limits<int>::max());
     }},
    {Key::on_lost_signal, "on-lost-signal", "--on-lost-signal", nullptr, "SIGNAL", kLasting,
     "with --keep-for: send PID this signal when the lock is lost, or one grace before that",
     "none", Type::text, kAcquire,
     [](Draft& draft, std::string_view value) { draft.on_lost_signal = to_signal(value); }},

    {Key::force, "force", "--force", nullptr, "", kForcing,
     "stop the holder's job, and release the lock when the job is gone", "", Type::toggle, kRelease,
     [](Draft& draft, std::string_view) { draft.force = true; }},
    {Key::now, "now", "--now", nullptr, "", kForcing,
     "release the lock at once, even if the job is still running", "", Type::toggle, kRelease,
     [](Draft& draft, std::string_view) { draft.now = true; }},
    {Key::yes, "yes", "-y,--yes", nullptr, "", kForcing, "do not ask", "", Type::toggle, kRelease,
     [](Draft& draft, std::string_view) { draft.yes = true; }},
    {Key::wait_gone, "wait-gone", "--wait", nullptr, "", kForcing,
     "wait until the job and its lock are gone", "", Type::toggle, kRelease,
     [](Draft& draft, std::string_view) { draft.wait_gone = true; }},

    {Key::server, "server", "-S,--server", "REDLOCK_SERVERS", "URI", kServers,
     "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss:// (TLS), unix:///PATH, "
     "redis+cluster://HOST,HOST or redis+sentinel://HOST,HOST/SERVICE; repeat for each further "
     "server",
     "", Type::uri_list, kLook, add_servers},
    {Key::server_timeout, "server-timeout", "--server-timeout", "REDLOCK_SERVER_TIMEOUT", "TIME",
     kServers, "how long one server may take to answer", "200ms", Type::duration, kLook,
     [](Draft& draft, std::string_view value) {
       draft.settings.server_timeout = in_milliseconds(to_duration(value, {1ms, kLongestDuration}));
     }},
    {Key::server_wait, "server-wait", "--server-wait", "REDLOCK_SERVER_WAIT", "TIME", kServers,
     "how long to keep trying while too few servers answer", "10s", Type::duration, kAsk | kByToken,
     [](Draft& draft, std::string_view value) {
       draft.settings.server_wait = in_milliseconds(to_duration(value));
     }},
    {Key::restart_grace, "restart-grace", "--restart-grace", "REDLOCK_RESTART_GRACE", "TIME",
     kServers,
     "how long a restarted server, which may have forgotten a lock, does not vote; at least the "
     "largest ttl in use; 0: it votes at once",
     "60s", Type::duration, kAsk | kRenew,
     [](Draft& draft, std::string_view value) {
       draft.settings.restart_grace =
           std::chrono::ceil<std::chrono::seconds>(to_duration(value, {0ns, kLongestGrace}));
     }},
    {Key::replicas, "replicas", "--replicas", "REDLOCK_REPLICAS", "N", kServers,
     "a server's vote counts only once N of its replicas have it (WAIT); then a fail-over "
     "forgets fewer locks",
     "0", Type::integer, kAsk | kRenew,
     [](Draft& draft, std::string_view value) {
       draft.settings.replicas = static_cast<unsigned>(to_integer(value, 0, kMostReplicas));
     }},
    {Key::prefix, "prefix", "--prefix", "REDLOCK_PREFIX", "TEXT", kServers,
     "redlock puts this before NAME to form the key in Redis", "none", Type::text, kLook,
     set_prefix},
    {Key::password_file, "password-file", "--password-file", "REDLOCK_PASSWORD_FILE", "FILE",
     kServers, "the password for servers whose URI has none", "", Type::text, kLook,
     [](Draft& draft, std::string_view value) { draft.settings.password_file = to_file(value); }},
    {Key::password, "password", "", "REDLOCK_PASSWORD", "", kServers,
     "the password for servers whose URI has none; --password-file overrides it", "", Type::secret,
     kLook, [](Draft& draft, std::string_view value) { draft.password = value; }},
    {Key::rediscli_auth, "rediscli-auth", "", "REDISCLI_AUTH", "", kServers,
     "redis-cli's password: where neither the URI nor a setting of redlock gives one", "",
     Type::secret, kLook,
     [](Draft& draft, std::string_view value) { draft.rediscli_auth = value; }},

    {Key::config_file, "config", "--config", "REDLOCK_CONFIG", "FILE", kServers,
     "read settings from this file, see redlock.toml(5)", kDefaultFile, Type::text, kLook,
     set_config_file},
    {Key::tls_ca, "tls-ca", "--tls-ca", "REDLOCK_TLS_CA", "FILE", kTls,
     "PEM file of the authorities to trust, in place of the system's", "", Type::text, kLook,
     [](Draft& draft, std::string_view value) { draft.settings.tls.ca = to_file(value); }},
    {Key::tls_ca_dir, "tls-ca-dir", "--tls-ca-dir", "REDLOCK_TLS_CA_DIR", "DIR", kTls,
     "the same, as a directory that openssl-rehash(1) prepared", "", Type::text, kLook,
     [](Draft& draft, std::string_view value) { draft.settings.tls.ca_dir = to_file(value); }},
    {Key::tls_cert, "tls-cert", "--tls-cert", "REDLOCK_TLS_CERT", "FILE", kTls,
     "PEM file of the certificate to show to the servers", "", Type::text, kLook,
     [](Draft& draft, std::string_view value) { draft.settings.tls.cert = to_file(value); }},
    {Key::tls_key, "tls-key", "--tls-key", "REDLOCK_TLS_KEY", "FILE", kTls,
     "PEM file of its private key", "the file of --tls-cert", Type::text, kLook,
     [](Draft& draft, std::string_view value) { draft.settings.tls.key = to_file(value); }},
    {Key::tls_sni, "tls-sni", "--tls-sni", "REDLOCK_TLS_SNI", "NAME", kTls,
     "the host name to ask the servers for; their certificates must have it", "the URI's host",
     Type::text, kLook, set_tls_sni},
    {Key::tls_insecure, "tls-insecure", "--tls-insecure", "REDLOCK_TLS_INSECURE", "", kTls,
     "trust any certificate: anyone on the network path can pose as a server", "", Type::toggle,
     kLook, set_tls_insecure},

    {Key::sandbox_servers, "servers", "-N,--servers", nullptr, "SERVERS", kSandboxing,
     "how many servers to start, 1 to 99", "3", Type::integer, kSandbox,
     [](Draft& draft, std::string_view value) {
       draft.sandbox_servers = to_integer(value, 1, 99);
     }},
    {Key::sandbox_cluster, "cluster", "--cluster", nullptr, "", kSandboxing,
     "start a Redis Cluster of 3 primaries and 3 replicas, which has one vote", "", Type::toggle,
     kSandbox, [](Draft& draft, std::string_view) { draft.sandbox_cluster = true; }},
    {Key::sandbox_sentinel, "sentinel", "--sentinel", nullptr, "", kSandboxing,
     "start a primary with 2 replicas and 3 Sentinels, which has one vote", "", Type::toggle,
     kSandbox, [](Draft& draft, std::string_view) { draft.sandbox_sentinel = true; }},

    {Key::since, "since", "--since", nullptr, "WHEN", kRuns,
     "only runs that were going on at that time or later: 2h (ago), 3d, 02:30, 2026-11-20, "
     "2026-11-20T02:30",
     "all", Type::text, kHistory,
     [](Draft& draft, std::string_view value) { draft.since = to_moment(value); }},
    {Key::at, "at", "--at", nullptr, "WHEN", kRuns,
     "only the run at that time; if there was none, the runs before and after it", "", Type::text,
     kHistory, [](Draft& draft, std::string_view value) { draft.at = to_moment(value); }},
    {Key::last, "last", "--last", nullptr, "N", kRuns, "only the last N runs of each lock", "all",
     Type::integer, kHistory,
     [](Draft& draft,
        std::string_view
            value) { draft.last = static_cast<std::size_t>(to_integer(value, 1, 1'000'000)); }},
    {Key::failed, "failed", "--failed", nullptr, "", kRuns,
     "only runs that failed: another exit status than 0, lost, forced, or never ended", "",
     Type::toggle, kHistory, [](Draft& draft, std::string_view) { draft.failed = true; }},
    {Key::svg, "svg", "--svg", nullptr, "FILE", kOther,
     "write a picture of the last 24 hours, or since --since; -: to standard output", "",
     Type::text, kHistory,
     [](Draft& draft, std::string_view value) { draft.svg = to_file(value); }},
    {Key::html, "html", "--html", nullptr, "FILE", kOther,
     "the same as a page, with a table of the runs", "", Type::text, kHistory,
     [](Draft& draft, std::string_view value) { draft.html = to_file(value); }},

    {Key::exclusive, "exclusive", "-x,-e,--exclusive", nullptr, "", kWaiting,
     "an exclusive lock, which nobody else has at the same time (default)", "", Type::toggle, kKeep,
     [](Draft& draft, std::string_view) { draft.settings.shared = false; }},
    {Key::shared, "shared", "-s,--shared", nullptr, "", kWaiting,
     "a shared lock, which others may have at the same time, but no exclusive one", "",
     Type::toggle, kKeep, [](Draft& draft, std::string_view) { draft.settings.shared = true; }},
    {Key::slots, "slots", "--slots", nullptr, "N", kWaiting,
     "up to N jobs hold the lock at once; the same N everywhere", "1", Type::integer, kKeep,
     [](Draft& draft, std::string_view value) {
       const int slots = to_integer(value, 1, static_cast<int>(lock::kMostSlots));
       draft.settings.slots = slots == 1 ? 0 : static_cast<std::size_t>(slots);
     }},
    {Key::no_fork, "no-fork", "-F,--no-fork", nullptr, "", kCompatible, "no effect; not with -o",
     "", Type::toggle, kRun, [](Draft& draft, std::string_view) { draft.no_fork = true; }},
    {Key::close, "close", "-o,--close", nullptr, "", kCompatible, "no effect; not with -F", "",
     Type::toggle, kRun, [](Draft& draft, std::string_view) { draft.close = true; }},
    {Key::unlock, "unlock", "-u,--unlock", nullptr, "", "", "", "", Type::toggle, kRun,
     refuse_unlock},

    {Key::metrics_file, "metrics-file", "--metrics-file", "REDLOCK_METRICS_FILE", "FILE", kOther,
     "add the result of the run to this file, for Prometheus' node_exporter", "", Type::text, kRun,
     set_metrics_file},
    {Key::watch, "watch", "--watch", nullptr, "", kOther,
     "show the same again and again, on a terminal, until Ctrl-C", "", Type::toggle,
     kStatus | kList, [](Draft& draft, std::string_view) { draft.watch = true; }},
    {Key::interval, "interval", "--interval", nullptr, "TIME", kOther, "with --watch: how often",
     "2s", Type::duration, kStatus | kList,
     [](Draft& draft,
        std::string_view
            value) { draft.interval = in_milliseconds(to_duration(value, {100ms, 24h})); }},
    {Key::color, "color", "--color", nullptr, "auto|always|never", kOther,
     "colours; auto: on a terminal, unless NO_COLOR is set", "auto", Type::text,
     kCheck | kStatus | kList | kHistory, set_color},
    {Key::verbose, "verbose", "-v,--verbose", nullptr, "", kOther,
     "name the holder, the times, and each change; twice: the answer of each server", "",
     Type::toggle, kAsk | kByToken,
     [](Draft& draft, std::string_view) { ++draft.settings.verbose; }},
    {Key::quiet, "quiet", "-q,--quiet", nullptr, "", kOther, "no warnings, only errors", "",
     Type::toggle, kLook, [](Draft& draft, std::string_view) { draft.settings.quiet = true; }},
    {Key::each_server, "each-server", "-v,--verbose", nullptr, "", kOther,
     "show what each server says, and up to 20 waiters", "", Type::toggle, kStatus,
     [](Draft& draft, std::string_view) { ++draft.settings.verbose; }},
    {Key::nothing_more, "nothing-more", "-v,--verbose", nullptr, "", kOther, "no effect", "",
     Type::toggle, kList | kHistory, [](Draft&, std::string_view) {}},
    {Key::every_finding, "every-finding", "-v,--verbose", nullptr, "", kOther,
     "show all findings, not only the problems", "", Type::toggle, kCheck,
     [](Draft& draft, std::string_view) { ++draft.settings.verbose; }},
    {Key::only_status, "only-status", "-q,--quiet", nullptr, "", kOther,
     "print nothing: the exit status says it", "", Type::toggle, kCheck,
     [](Draft& draft, std::string_view) { draft.settings.quiet = true; }},
    {Key::json, "json", "--json", nullptr, "", kOther, "print JSON", "", Type::toggle,
     kConfig | kCheck | kStatus | kList | kHistory | kAcquire | kRenew | kHold,
     [](Draft& draft, std::string_view) { draft.json = true; }},
    {Key::help, "help", "-h,--help", nullptr, "", kOther, "show this help", "", Type::request,
     kEvery, nullptr},
    {Key::help_servers, "help-servers", "--help-servers", nullptr, "", kServers,
     "show all options for the servers, passwords and TLS", "", Type::request,
     kLook | kConfig | kCheck, nullptr},
    {Key::version, "version", "-V,--version", nullptr, "", kOther, "show the version", "",
     Type::request, kEvery, nullptr},
};

static_assert(std::size(kTable) == static_cast<std::size_t>(Key::count_));

/// Whether `flag` is one of the comma-separated `flags`.
bool contains(std::string_view flags, std::string_view flag) {
  while (!flags.empty()) {
    const std::size_t comma = flags.find(',');
    if (flags.substr(0, comma) == flag) return true;
    flags = comma == std::string_view::npos ? std::string_view{} : flags.substr(comma + 1);
  }
  return false;
}

}  // namespace

std::span<const Row> table() {
  return kTable;
}

const Row& row_of(Key key) {
  return *std::ranges::find(kTable, key, &Row::key);
}

bool takes(Command command, const Row& row) {
  if ((row.commands & command) != 0) return true;
  const bool has_settings = command == kConfig || command == kCheck;
  return has_settings && (row.commands & kRun) != 0 && row.environment != nullptr;
}

bool of_servers(const Row& row) {
  return row.group == kServers || row.group == kTls;
}

std::string file_key(const Row& row) {
  constexpr std::string_view prefix = "REDLOCK_";
  if (row.environment == nullptr || row.key == Key::config_file) return {};
  std::string key(row.environment);
  if (!key.starts_with(prefix)) return {};
  key.erase(0, prefix.size());
  for (char& letter : key) {
    letter =
        letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return key;
}

const Row* find_flag(Command command, std::string_view flag) {
  if (flag.find(',') != std::string_view::npos) return nullptr;
  for (const Row& row : kTable) {
    if (takes(command, row) && contains(row.flags, flag)) return &row;
  }
  return nullptr;
}

std::string flag_name(const Row& row) {
  const std::string_view first = row.flags.substr(0, row.flags.find(','));
  const std::size_t longer = row.flags.find("--");
  if (longer == 0) return std::string(first);
  const std::string_view rest = row.flags.substr(longer);
  return std::string(first) + "/" + std::string(rest.substr(0, rest.find(',')));
}

}  // namespace redlock::config
