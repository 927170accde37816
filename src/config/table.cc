// SPDX-License-Identifier: MIT
#include "config/table.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "config/setters.h"
#include "config/value.h"
#include "error.h"
#include "lock/value.h"
#include "os/printable.h"
#include "redis/requests/answer.h"
#include "redis/requests/keys.h"

namespace redlock::config {
namespace {

using redis::TlsSettings;
using namespace std::chrono_literals;

constexpr Bounds kTtl{1s, 24h};
constexpr Bounds kRestartGrace{0ns, 48h};  // twice the longest ttl
constexpr Bounds kTimeOut{1ms, kLongestDuration};
constexpr Bounds kInterval{100ms, 24h};
constexpr Bounds kHoldTime{1s, kLongestHold};
constexpr Bounds kMinHold{0ns, kLongestHold};
constexpr int kMostReplicas = 15;

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

constexpr std::string_view kWhen = "auto|always|never";
constexpr std::string_view kHowMuch = "full|name|none";
constexpr std::string_view kKinds = "redlock|redisson";

constexpr Row kTable[] = {
    {"acl", "--acl", nullptr, "USER", kPermissions,
     "only print the line for redis-cli that gives USER the smallest permissions for NAME (without "
     "NAME: for all locks with the prefix), and ask no server",
     "", Type::text, kCheck,
     [](Draft& draft, std::string_view value) {
       const auto is_bad = [](char c) { return c == ' ' || os::is_control(c); };
       if (value.empty() || value == "default" || std::ranges::any_of(value, is_bad)) {
         reject("a user for jobs alone, without blanks and control characters", value);
       }
       draft.acl_user = value;
     }},
    {"nonblock", "-n,--nonblock,--nb,--nonblocking", nullptr, "", kWaiting,
     "do not wait: give up if the lock is held", "", Type::toggle, kAsk,
     toggle<&Draft::nonblocking>},
    {"wait", "-w,--wait,--timeout", nullptr, "TIME", kWaiting, "wait no longer than this; 0 is -n",
     "no limit", Type::duration, kAsk, set_time<&Settings::wait>},
    {"max-waiting", "--max-waiting", nullptr, "N", kWaiting,
     "do not wait if N runs wait already; 0 is -n", "no limit", Type::integer, kKeep,
     [](Draft& draft, std::string_view value) {
       const int most = to_integer(value, 0, 1'000'000);
       draft.settings.max_waiting = static_cast<std::size_t>(most);
       draft.nonblocking = draft.nonblocking || most == 0;
     }},
    {"newest", "--newest", nullptr, "", kWaiting,
     "of the runs that wait with it, only the newest goes on: the others give up", "",
     Type::toggle, kKeep | kCheck, toggle<&Settings::newest>},
    {"build", "--build", nullptr, "NUMBER", kWaiting,
     "give up if a run with a larger number was successful; larger is newer for --newest, too", "",
     Type::integer, kKeep | kCheck,
     [](Draft& draft, std::string_view value) {
       draft.settings.build = redis::read_number(value);
       if (draft.settings.build.value_or(~0ULL) >= 1ULL << 53U) {
         reject("a whole number below 2^53", value);
       }
     }},
    {"replace", "--replace", nullptr, "", kWaiting,
     "stop the holder's job, as release --force does, and wait until it has ended",
     "", Type::toggle, kKeep, toggle<&Settings::replaces>},
    {"conflict-exit-code", "-E,--conflict-exit-code", nullptr, "N", kWaiting,
     "exit status when redlock did not get the lock in time", "1", Type::integer, kAsk,
     set_integer<&Settings::conflict_exit_code, 0, 255>},
    {"progress", "--progress", "REDLOCK_PROGRESS", kWhen, kWaiting,
     "show who holds the lock, your place in the queue and the time; auto: live on a terminal, a "
     "line each minute where CI is set",
     "auto", Type::text, kAsk, set<&Settings::progress, to_choice<When, kWhen>>},

    {key::ttl, "--ttl", "REDLOCK_TTL", "TIME", kLasting,
     "how long the lock lasts without renewal, and so how long it outlives a dead host", "30s",
     Type::duration, kKeep, set_time<&Settings::ttl, kTtl>},
    {key::kill_after, "--kill-after", "REDLOCK_KILL_AFTER", "TIME", kLasting,
     "grace: how long a job that lost its lock has from the first signal to KILL; at most ttl/3",
     kDefaultGrace, Type::duration, kKeep, set_time<&Settings::kill_after>},
    {"for", "--for", nullptr, "TIME", kLasting,
     "how long a maintenance hold lasts, from now on: 90, 5m, 1h30m, 3d; at most 30d", "",
     Type::duration, kHold | kRenew, set_time<&Options::hold_for, kHoldTime, Round::up>},
    {"until", "--until", nullptr, "WHEN", kLasting,
     "when it ends: 02:30 (the next time), tomorrow, 2026-11-20, 2026-11-20T02:30", "", Type::text,
     kHold | kRenew, set_moment<&Options::until, Tense::future>},
    {"max-runtime", "--max-runtime", nullptr, "TIME", kHolding, "stop the command after this long",
     "no limit", Type::duration, kRun,
     [](Draft& draft, std::string_view value) {
       const auto time = to_duration(value);
       draft.settings.max_runtime.reset();
       if (time > 0ns) draft.settings.max_runtime = time;  // 0: no limit, as for timeout(1)
     }},
    {"signal", "--signal", nullptr, "SIGNAL", kHolding,
     "the first signal to stop the command with: a name or number", "TERM", Type::text, kRun,
     set<&Settings::stop_signal, to_signal>},
    {"wait-all", "--wait-all", nullptr, "", kHolding,
     "hold the lock until every process that the command started has ended", "", Type::toggle, kRun,
     toggle<&Settings::wait_all>},
    {"on-lost", "--on-lost", "REDLOCK_ON_LOST", "COMMAND", kHolding,
     "run this with /bin/sh when redlock stops the command because of the lock", "", Type::text,
     kRun, set<&Settings::on_lost>},
    {"min-hold", "--min-hold", nullptr, "TIME", kHolding,
     "keep the lock at least this long from the start on, even if the command ends sooner", "0",
     Type::duration, kRun, set_time<&Settings::min_hold, kMinHold, Round::up>},
    {"hold-on-failure", "--hold-on-failure", nullptr, "TIME", kHolding,
     "if the command fails, keep everybody out for this long, or until redlock release --force", "",
     Type::duration, kRun, set_time<&Settings::hold_on_failure, kHoldTime, Round::up>},
    {"once", "--once", nullptr, "TIME", kHolding,
     "do nothing if a successful run began less than this ago", "", Type::duration, kRun | kCheck,
     set_time<&Settings::once, kHoldTime, Round::up>},
    {key::once_exit_code, "--once-exit-code", nullptr, "N", kHolding,
     "exit status when --once found such a run", "0", Type::integer, kRun,
     set_integer<&Settings::once_exit_code, 0, 255>},
    {"no-reentrant", "--no-reentrant", nullptr, "", kHolding,
     "do not join a lock that an outer redlock run holds", "", Type::toggle, kRun,
     toggle<&Settings::reentrant, false>},
    {key::also, "--also", nullptr, "NAME", kHolding,
     "hold this lock, too; repeat for each further lock", "", Type::text, kRun,
     [](Draft& draft, std::string_view value) {
       redis::check_lock_name(value);
       draft.also.emplace_back(value);
     }},
    {"log-entries", "--log-entries", "REDLOCK_LOG_ENTRIES", "N", kOther,
     "how many lines the servers keep in the lock's log, see redlock history; 0: none", "1000",
     Type::integer, kAsk | kByToken, set_integer<&Settings::log_entries, 0, 100'000>},
    {"record-command", "--record-command", "REDLOCK_RECORD_COMMAND", kHowMuch, kOther,
     "how much of the command the servers keep, for status and history to show", "full", Type::text,
     kAsk | kRelease, set<&Settings::record_command, to_choice<RecordCommand, kHowMuch>>},
    {"message", "-m,--message", nullptr, "TEXT", kOther,
     "why you take the lock; waiters, status, list and history can read it (in CI by default the "
     "link of the job)",
     "", Type::text, kAsk, set<&Settings::message>},
    {"command", "-c,--command", nullptr, "COMMAND", kHolding,
     "run this one word with the shell ($SHELL, or /bin/sh)", "", Type::shell_command, kRun,
     set<&Draft::shell_command>},

    {key::renew_ttl, "--ttl", nullptr, "TIME", kLasting, "the new ttl",
     "the ttl that it was taken with", Type::duration, kRenew,
     [](Draft& draft, std::string_view value) {
       set_time<&Settings::ttl, kTtl>(draft, value);
       draft.given[key::ttl] = {Origin::flag};  // so that no variable or file sets it
     }},
    {"keep-for", "--keep-for", nullptr, "PID", kLasting,
     "start a process that renews the lock until process PID ends, and then releases it", "",
     Type::integer, kAcquire, set_integer<&Options::keep_for, 1, std::numeric_limits<int>::max()>},
    {"on-lost-signal", "--on-lost-signal", nullptr, "SIGNAL", kLasting,
     "with --keep-for: send PID this signal when the lock is lost, or one grace before that",
     "none", Type::text, kAcquire, set<&Options::on_lost_signal, to_signal>},

    {"force", "--force", nullptr, "", kForcing,
     "stop the holder's job, and release the lock when the job is gone", "", Type::toggle, kRelease,
     toggle<&Draft::force>},
    {"now", "--now", nullptr, "", kForcing,
     "release the lock immediately, even if the job is still running", "", Type::toggle, kRelease,
     toggle<&Options::now>},
    {"yes", "-y,--yes", nullptr, "", kForcing, "do not ask", "", Type::toggle, kRelease,
     toggle<&Options::yes>},
    {"wait-gone", "--wait", nullptr, "", kForcing, "wait until the job and its lock are gone", "",
     Type::toggle, kRelease, toggle<&Options::wait_gone>},

    {"forget-build", "--forget-build", nullptr, "", kForcing,
     "let any build run again: forget the number of the last one that was successful (--build)", "",
     Type::toggle, kRelease, toggle<&Options::forget_build>},

    {key::server, "-S,--server", "REDLOCK_SERVERS", "URI", kServers,
     "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss:// (TLS), unix:///PATH, "
     "redis+cluster://HOST,HOST or redis+sentinel://HOST,HOST/SERVICE; repeat for each further "
     "server",
     "", Type::uri_list, kLook,
     [](Draft& draft, std::string_view value) {
       auto& servers = draft.settings.servers;
       const std::vector<redis::Endpoint> added = to_servers(value, servers.size());
       servers.insert(servers.end(), added.begin(), added.end());
     }},
    {key::server_timeout, "--server-timeout", "REDLOCK_SERVER_TIMEOUT", "TIME", kServers,
     "how long one server may take to answer", "200ms", Type::duration, kLook,
     set_time<&Settings::server_timeout, kTimeOut>},
    {key::server_wait, "--server-wait", "REDLOCK_SERVER_WAIT", "TIME", kServers,
     "how long to keep trying while too few servers answer", "10s", Type::duration, kAsk | kByToken,
     set_time<&Settings::server_wait>},
    {key::restart_grace, "--restart-grace", "REDLOCK_RESTART_GRACE", "TIME", kServers,
     "how long a restarted server, which may have forgotten a lock, does not vote; at least the "
     "largest ttl in use; 0: it votes immediately",
     "60s", Type::duration, kAsk | kRenew,
     set_time<&Settings::restart_grace, kRestartGrace, Round::up>},
    {"replicas", "--replicas", "REDLOCK_REPLICAS", "N", kServers,
     "a server's vote counts only once N of its replicas have it (WAIT); then a fail-over forgets "
     "fewer locks",
     "0", Type::integer, kAsk | kRenew, set_integer<&Settings::replicas, 0, kMostReplicas>},
    {"prefix", "--prefix", "REDLOCK_PREFIX", "TEXT", kServers,
     "redlock puts this before NAME to form the key in Redis", "none", Type::text, kLook,
     [](Draft& draft, std::string_view value) {
       if (!value.empty()) redis::check_lock_name(value);  // the key begins with it
       draft.settings.prefix = value;
     }},
    {"as", "--as", "REDLOCK_AS", kKinds, kServers,
     "whose kind of lock it is; redisson: that of Redisson's getLock(NAME), in Java", "redlock",
     Type::text, kLook, set<&Settings::as, to_choice<As, kKinds>>},
    {key::password_file, "--password-file", "REDLOCK_PASSWORD_FILE", "FILE", kServers,
     "the password for servers whose URI has none", "", Type::text, kLook,
     set<&Settings::password_file, to_file>},
    {key::password, "", "REDLOCK_PASSWORD", "", kServers,
     "the password for servers whose URI has none; --password-file overrides it", "", Type::secret,
     kLook, set<&Draft::password>},
    {"rediscli-auth", "", "REDISCLI_AUTH", "", kServers,
     "redis-cli's password: where neither the URI nor a setting of redlock gives one", "",
     Type::secret, kLook, set<&Draft::rediscli_auth>},

    {key::config_file, "--config", "REDLOCK_CONFIG", "FILE", kServers,
     "read settings from this file, see redlock.toml(5)", kDefaultFile, Type::text, kLook,
     set<&Draft::config_file, to_optional_file>},
    {"tls-ca", "--tls-ca", "REDLOCK_TLS_CA", "FILE", kTls,
     "PEM file of the authorities to trust, in place of the system's", "", Type::text, kLook,
     set<&TlsSettings::ca, to_file>},
    {"tls-ca-dir", "--tls-ca-dir", "REDLOCK_TLS_CA_DIR", "DIR", kTls,
     "the same, as a directory that openssl-rehash(1) prepared", "", Type::text, kLook,
     set<&TlsSettings::ca_dir, to_file>},
    {"tls-cert", "--tls-cert", "REDLOCK_TLS_CERT", "FILE", kTls,
     "PEM file of the certificate to show to the servers", "", Type::text, kLook,
     set<&TlsSettings::cert, to_file>},
    {"tls-key", "--tls-key", "REDLOCK_TLS_KEY", "FILE", kTls, "PEM file of its private key",
     "the file of --tls-cert", Type::text, kLook, set<&TlsSettings::key, to_file>},
    {"tls-sni", "--tls-sni", "REDLOCK_TLS_SNI", "NAME", kTls,
     "the host name to ask the servers for; their certificates must have it", "the URI's host",
     Type::text, kLook, set<&TlsSettings::sni, to_host_name>},
    {"tls-insecure", "--tls-insecure", "REDLOCK_TLS_INSECURE", "", kTls,
     "trust any certificate: anyone on the network path can pose as a server", "", Type::toggle,
     kLook, set_tls_insecure},

    {key::sandbox_servers, "-N,--servers", nullptr, "SERVERS", kSandboxing,
     "how many servers to start, 1 to 99", "3", Type::integer, kSandbox,
     set_integer<&Draft::sandbox_servers, 1, 99>},
    {"cluster", "--cluster", nullptr, "", kSandboxing,
     "start a Redis Cluster of 3 primaries and 3 replicas, which has one vote", "", Type::toggle,
     kSandbox, toggle<&Draft::sandbox_cluster>},
    {"sentinel", "--sentinel", nullptr, "", kSandboxing,
     "start a primary with 2 replicas and 3 Sentinels, which has one vote", "", Type::toggle,
     kSandbox, toggle<&Draft::sandbox_sentinel>},

    {"since", "--since", nullptr, "WHEN", kRuns,
     "only runs that were going on at that time or later: 2h (ago), 3d, 02:30, yesterday, "
     "2026-11-20, 2026-11-20T02:30",
     "all", Type::text, kHistory, set_moment<&Options::since, Tense::past>},
    {"history-until", "--until", nullptr, "WHEN", kRuns,
     "only runs that began before that time", "now", Type::text, kHistory,
     set_moment<&Options::until, Tense::past>},
    {"at", "--at", nullptr, "WHEN", kRuns,
     "only the run at that time; if there was none, the runs before and after it", "", Type::text,
     kHistory, set_moment<&Options::at, Tense::past>},
    {"last", "--last", nullptr, "N", kRuns, "only the last N runs of each lock", "all",
     Type::integer, kHistory, set_integer<&Options::last, 1, 1'000'000>},
    {"failed", "--failed", nullptr, "", kRuns,
     "only runs that failed: another exit status than 0, lost, forced, or never ended", "",
     Type::toggle, kHistory, toggle<&Options::failed>},
    {"refused", "--refused", nullptr, "", kRuns,
     "instead, the hosts whose runs gave up because the lock was held: how often, when last, by "
     "whom",
     "", Type::toggle, kHistory, toggle<&Options::refused>},
    {"svg", "--svg", nullptr, "FILE", kOther,
     "write a picture of the 24 hours before --until, or since --since; -: to standard output", "",
     Type::text, kHistory, set<&Options::svg, to_file>},
    {"html", "--html", nullptr, "FILE", kOther, "the same as a page, with a table of the runs", "",
     Type::text, kHistory, set<&Options::html, to_file>},

    {"exclusive", "-x,-e,--exclusive", nullptr, "", kWaiting,
     "an exclusive lock, which nobody else has at the same time (default)", "", Type::toggle, kKeep,
     toggle<&Settings::shared, false>},
    {"shared", "-s,--shared", nullptr, "", kWaiting,
     "a shared lock, which others may have at the same time, but no exclusive one", "",
     Type::toggle, kKeep | kCheck, toggle<&Settings::shared>},
    {"slots", "--slots", nullptr, "N", kWaiting,
     "up to N jobs hold the lock at the same time; the same N everywhere", "1", Type::integer,
     kKeep | kCheck,
     [](Draft& draft, std::string_view value) {
       const int slots = to_integer(value, 1, static_cast<int>(lock::kMostSlots));
       draft.settings.slots = slots == 1 ? 0 : static_cast<std::size_t>(slots);
     }},
    {"no-fork", "-F,--no-fork", nullptr, "", kCompatible, "no effect; not with -o", "",
     Type::toggle, kRun, toggle<&Draft::no_fork>},
    {"close", "-o,--close", nullptr, "", kCompatible, "no effect; not with -F", "", Type::toggle,
     kRun, toggle<&Draft::close>},
    {"unlock", "-u,--unlock", nullptr, "", "", "", "", Type::toggle, kRun,
     [](Draft&, std::string_view) {
       throw Error(ExitStatus::usage,
                   "there is nothing to unlock: redlock releases the lock when the command ends");
     }},

    {"metrics-file", "--metrics-file", "REDLOCK_METRICS_FILE", "FILE", kOther,
     "add the result of the run to this file, for Prometheus' node_exporter", "", Type::text, kRun,
     [](Draft& draft, std::string_view value) {
       // /dev/null overrides a file that the environment or the configuration file names.
       draft.settings.metrics_file = value == "/dev/null" ? "" : to_optional_file(value);
     }},
    {"watch", "--watch", nullptr, "", kOther,
     "show the same again and again, on a terminal, until q or Ctrl-C", "", Type::toggle,
     kStatus | kList, toggle<&Options::watch>},
    {key::interval, "--interval", nullptr, "TIME", kOther, "with --watch: how often", "2s",
     Type::duration, kStatus | kList, set_time<&Options::interval, kInterval>},
    {"color", "--color", nullptr, kWhen, kOther,
     "colours; auto: on a terminal, unless NO_COLOR is set", "auto", Type::text,
     kCheck | kStatus | kList | kHistory, set<&Settings::color, to_choice<When, kWhen>>},
    {"verbose", "-v,--verbose", nullptr, "", kOther,
     "name the holder, the times, and each change; twice: the answer of each server", "",
     Type::toggle, kAsk | kByToken, count_verbose},
    {"quiet", "-q,--quiet", nullptr, "", kOther, "no warnings, only errors", "", Type::toggle,
     kLook, toggle<&Settings::quiet>},
    {"each-server", "-v,--verbose", nullptr, "", kOther,
     "show what each server says, and up to 20 waiters", "", Type::toggle, kStatus, count_verbose},
    {"nothing-more", "-v,--verbose", nullptr, "", kOther, "no effect", "", Type::toggle,
     kList | kHistory, [](Draft&, std::string_view) {}},
    {"every-finding", "-v,--verbose", nullptr, "", kOther,
     "show all findings, not only the problems", "", Type::toggle, kCheck, count_verbose},
    {"only-status", "-q,--quiet", nullptr, "", kOther, "print nothing: the exit status says it", "",
     Type::toggle, kCheck, toggle<&Settings::quiet>},
    {"json", "--json", nullptr, "", kOther, "print JSON", "", Type::toggle,
     kConfig | kCheck | kStatus | kList | kHistory | kAcquire | kRenew | kHold,
     toggle<&Options::json>},
    {"prometheus", "--prometheus", nullptr, "", kOther,
     "print metrics in the text format of Prometheus", "", Type::toggle, kList,
     toggle<&Options::prometheus>},
    {"help", "-h,--help", nullptr, "", kOther, "show this help", "", Type::request, kEvery,
     nullptr},
    {key::help_servers, "--help-servers", nullptr, "", kServers,
     "show all options for the servers, passwords and TLS", "", Type::request,
     kLook | kConfig | kCheck, nullptr},
    {key::version, "-V,--version", nullptr, "", kOther, "show the version", "", Type::request,
     kEvery, nullptr},
};

}  // namespace

std::span<const Row> table() {
  return kTable;
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
  if (row.environment == nullptr || row.name == key::config_file) return {};
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
  const auto* const row = std::ranges::find_if(kTable, [&](const Row& each) {
    return takes(command, each) && std::ranges::count(parts_of(each.flags, ","), flag) > 0;
  });
  return row == std::end(kTable) ? nullptr : row;
}

}  // namespace redlock::config
