// SPDX-License-Identifier: MIT
#include "check/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "config/value.h"
#include "diag/text.h"

namespace redlock::check {

namespace {

using namespace std::chrono_literals;
using config::Settings;
using std::chrono::seconds;

constexpr std::size_t kMostOfText = 80;
constexpr std::uint64_t kOldestVersion = 5;
constexpr auto kMostSkew = 5s;
constexpr auto kRenewCertificate = std::chrono::hours(14 * 24);

/// A user without one of these commands cannot acquire, renew or release a lock.
constexpr std::array<std::string_view, 7> kEssential = {"type", "get",     "set", "del",
                                                        "pttl", "pexpire", "hset"};

std::string shown(std::string_view text) {
  return diag::printable(text, kMostOfText);
}

/// 0 if the text is not a number.
std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), value));
  return value;
}

Level failure(const lock::Unreachable& trouble) {
  return trouble.permanent ? Level::misconfigured : Level::outage;
}

/// Valkey has its own name for the field, from version 8 on.
std::string mode_of(const Inspection& inspection) {
  const std::string mode = inspection.field("redis_mode");
  return mode.empty() ? inspection.field("server_mode") : mode;
}

bool is_sentinel(const Inspection& inspection) {
  return mode_of(inspection) == "sentinel";
}

/// A slave, or an active-replica of KeyDB, which takes writes as well (see replica.lua).
bool is_replica(const Inspection& inspection) {
  const std::string role = inspection.field("role");
  return !role.empty() && role != "master";
}

Verdict judge_round_trip(const Inspection& inspection, const Settings& settings) {
  const std::string took = diag::for_people(*inspection.round_trip);
  const std::string limit = config::format_duration(settings.request_timeout());
  if (*inspection.round_trip <= settings.request_timeout() / 2) {
    return {Level::ok, fmt::format("answers in {}; time-out {}", took, limit)};
  }
  const bool by_ttl = settings.server_timeout > settings.request_timeout();
  return {
      Level::warning,
      fmt::format("takes {} to answer, more than half of the time-out of {}; raise {}", took, limit,
                  by_ttl ? "the ttl (the time-out is a tenth of it)" : "--server-timeout")};
}

/// A proxy may close the connection when some commands come.
Verdict not_answered(std::string_view command, const lock::Unreachable& why) {
  return {Level::warning,
          fmt::format("{} is not answered ({}), so that this check cannot see everything; locks "
                      "do not need it",
                      command, why.why)};
}

/// Of what redlock needs to know, services leave some out of INFO. A Sentinel has other fields.
std::optional<Verdict> judge_fields(const Inspection& inspection) {
  if (is_sentinel(inspection)) return std::nullopt;
  constexpr std::pair<std::string_view, std::string_view> kNeeded[] = {
      {"run_id", "restarts and two addresses of one server go unnoticed (no restart grace)"},
      {"role", "replicas go unnoticed"},
      {"maxmemory", "eviction goes unnoticed"}};
  std::string lacking;
  for (const auto& [field, unseen] : kNeeded) {
    if (!inspection.field(field).empty()) continue;
    lacking += fmt::format("{}no {}: {}", lacking.empty() ? "" : "; ", field, unseen);
  }
  if (lacking.empty()) return std::nullopt;
  return Verdict{Level::warning, "INFO has " + lacking};
}

Verdict judge_version(const Inspection& inspection) {
  const std::string valkey = inspection.field("valkey_version");
  const std::string redis = inspection.field("redis_version");
  if (!valkey.empty()) return {Level::ok, "Valkey " + shown(valkey)};
  if (redis.empty()) return {Level::warning, "does not report its version; is it Redis or Valkey?"};
  if (number(redis) >= kOldestVersion) return {Level::ok, "Redis " + shown(redis)};
  return {Level::misconfigured,
          "Redis " + shown(redis) + " is too old; Redis 5 or later is needed"};
}

Verdict judge_role(const redis::Endpoint& server, const Inspection& inspection,
                   const Settings& settings) {
  using Kind = redis::Endpoint::Kind;
  if (is_sentinel(inspection)) {
    return {Level::misconfigured,
            "is a Sentinel, which holds no data; write redis+sentinel://HOST:PORT/SERVICE, or give "
            "the address of a server (usually port 6379)"};
  }
  const bool clustered = mode_of(inspection) == "cluster";
  if (clustered && server.kind != Kind::cluster) {
    return {Level::warning,
            "is a node of a Redis Cluster, and only some locks belong to this node; write "
            "redis+cluster://HOST:PORT"};
  }
  if (!clustered && server.kind == Kind::cluster) {
    return {Level::warning, "is not a Redis Cluster; write redis:// in place of redis+cluster://"};
  }
  if (inspection.field("role") == "active-replica") {
    return {Level::misconfigured,
            "is an active replica and can give no vote; set active-replica no there"};
  }
  if (is_replica(inspection)) {
    return {Level::misconfigured,
            fmt::format("is a replica and can give no vote; use the address of its primary, {}:{}",
                        shown(inspection.field("master_host")),
                        shown(inspection.field("master_port")))};
  }
  if (inspection.field("role").empty()) return {Level::ok, "not known"};
  const std::string who = server.moves() ? inspection.place + " is a primary" : "a primary";
  const std::uint64_t replicas = number(inspection.field("connected_slaves"));
  if (replicas == 0) return {Level::ok, who + " without replicas"};
  // INFO has this field only if min-replicas-to-write is set.
  const bool stops = !inspection.field("min_slaves_good_slaves").empty();
  if (server.kind == Kind::sentinel && settings.replicas == 0 && !stops) {
    return {Level::warning,
            who +
                " that goes on giving locks when it is cut off and the Sentinels have replaced "
                "it; use --replicas 1 on every host, or set min-replicas-to-write 1 there"};
  }
  const std::string then =
      settings.replicas > 0
          ? fmt::format("its vote counts once it has reached {} of them (--replicas)",
                        settings.replicas)
          : "a replica that takes over may not know the newest locks (see --replicas)";
  return {Level::ok, fmt::format("{} with {}; {}", who, diag::counted(replicas, "replica"), then)};
}

Verdict judge_uptime(const Inspection& inspection, const Settings& settings) {
  const seconds up = uptime(inspection).value_or(0s);
  const std::string text = "up for " + (up < 1s ? "less than a second" : diag::for_people(up));
  const seconds trusted_from = settings.restart_grace + 1s;  // Redis rounds its uptime
  if (settings.restart_grace == 0s || up >= trusted_from) return {Level::ok, text};
  return {Level::warning,
          fmt::format("started only {} s ago, and may have forgotten a lock; trusted in {} s (see "
                      "--restart-grace)",
                      up.count(), (trusted_from - up).count())};
}

Verdict judge_persistence(const Inspection& inspection, const Settings& settings) {
  if (inspection.field("aof_last_write_status") == "err" ||
      inspection.field("rdb_last_bgsave_status") == "err") {
    return {Level::warning,
            "cannot save to disk and may refuse all writes; see its log, disk space and "
            "permissions there"};
  }
  const bool alone = settings.servers.size() == 1;
  if (inspection.field("aof_enabled") != "1") {
    if (!alone && settings.restart_grace > 0s) {
      return {Level::ok,
              "no append-only file: it forgets its locks when restarted, the others do not"};
    }
    return {Level::warning,
            "no append-only file: a restart frees all locks, even those of running jobs; set "
            "appendonly yes there" +
                std::string(alone ? ", or use several servers" : ", or raise --restart-grace")};
  }
  const std::string fsync = inspection.appendfsync.value_or("not known, CONFIG is not permitted");
  if (fsync == "no" && alone) {
    return {Level::warning,
            "appendfsync no: a crash can lose the locks of the last half minute; set appendfsync "
            "everysec or always there"};
  }
  return {Level::ok, "append-only file, appendfsync " + shown(fsync)};
}

Verdict judge_memory(const Inspection& inspection) {
  const std::uint64_t limit = number(inspection.field("maxmemory"));
  const std::uint64_t used = number(inspection.field("used_memory"));
  const std::string policy = inspection.field("maxmemory_policy");
  if (limit == 0) return {Level::ok, "no maxmemory"};
  if (policy != "noeviction") {
    const std::uint64_t evicted = number(inspection.field("evicted_keys"));
    return {
        Level::misconfigured,
        fmt::format("a held lock may be evicted: maxmemory-policy {}{}; set maxmemory-policy "
                    "noeviction there",
                    shown(policy), evicted == 0 ? "" : fmt::format(" ({} keys were)", evicted))};
  }
  const std::uint64_t percent = used / std::max<std::uint64_t>(limit / 100, 1);
  if (percent < 90) return {Level::ok, fmt::format("{} % of maxmemory, noeviction", percent)};
  return {percent < 100 ? Level::warning : Level::outage,
          fmt::format("{} % of maxmemory is used, and at 100 % new locks may be refused; raise "
                      "maxmemory there or make room",
                      percent)};
}

/// Permissions that the user lacks, but does not need for locking: "; " and a sentence for each.
std::string comforts_missed(const Inspection& inspection, const Settings& settings) {
  std::string missed;
  if (!inspection.may_log && settings.log_entries > 0) {
    missed +=
        "; the user may not write the lock's log, and redlock history will show nothing; "
        "give it +xadd and the log's key (see redlock-protocol(7)), or set log-entries to 0";
  }
  if (!inspection.may_queue) {
    missed +=
        "; the user may not use the lock's queue, so that waiters are not woken, but ask again "
        "after up to 5 s; give it +zadd +zrem +zrange +zrangebyscore +zrank +zcard +zscore, the "
        "queue's keys and &redlock*:wake:* (see redlock-protocol(7))";
  }
  if (!inspection.denied_redisson.empty()) {
    missed += "; the user may not do all that --as redisson needs; give it";
    for (const std::string& command : inspection.denied_redisson) {
      missed += command == "&" ? " &redisson_lock*" : " +" + shown(command);
    }
    const bool queue =
        std::ranges::find(inspection.denied_redisson, "lindex") != inspection.denied_redisson.end();
    if (queue) missed += " and ~redisson_lock_queue:*";
  }
  if (!inspection.denied_sharded.empty()) {
    missed +=
        "; the user may not send or hear messages for one slot, so that each message goes to all "
        "nodes of the Cluster; give it";
    for (const std::string& command : inspection.denied_sharded) missed += " +" + shown(command);
  }
  return missed;
}

Verdict judge_permissions(const Inspection& inspection, const Settings& settings,
                          const Tried& tried) {
  if (inspection.scripts_refused) {
    std::string why = inspection.scripts_refused->why;
    if (tried.ours && why.find("permission") != std::string::npos) {
      why += "; if it may use certain locks only, try one of them: redlock check NAME";
    }
    return {failure(*inspection.scripts_refused), why};
  }
  if (inspection.denied.empty()) {
    const std::string missed = comforts_missed(inspection, settings);
    std::string without;
    for (const auto& [option, key] : inspection.denied_options) {
      without += fmt::format("; --{} needs ~{}", option, diag::printable(key));
    }
    if (missed.empty()) return {Level::ok, "the user may do all that is needed" + without};
    return {Level::warning, missed.substr(2)};
  }
  std::string all;
  bool essential = false;
  for (const std::string& command : inspection.denied) {
    all += command == "&" ? " &redlock*:told:*" : " +" + shown(command);
    essential = essential || std::ranges::find(kEssential, command) != kEssential.end();
  }
  return {essential ? Level::misconfigured : Level::warning,
          "the user lacks permissions, or the server has renamed commands; give it" + all +
              (essential ? "" : " (redlock-protocol(7) says what happens without them)")};
}

Verdict judge_clock(const Inspection& inspection) {
  const auto ahead = *inspection.ahead;
  const auto off = ahead < 0ms ? -ahead : ahead;
  const std::string text =
      fmt::format("{} {} this host's", diag::for_people(off), ahead < 0ms ? "behind" : "ahead of");
  if (off <= kMostSkew) return {Level::ok, text};
  return {Level::warning,
          text +
              "; set both by NTP (locks do not need it, fencing numbers do when a server loses "
              "its data)"};
}

Verdict judge_certificate(std::chrono::system_clock::time_point expires) {
  const auto left = expires - std::chrono::system_clock::now();
  if (left <= 0s) return {Level::misconfigured, "the certificate has expired; renew it"};
  const std::string text = "the certificate expires in " + diag::for_people(left);
  if (left >= kRenewCertificate) return {Level::ok, text};
  return {Level::warning, text + "; renew it"};
}

Verdict judge_grace(const Settings& settings) {
  const std::string grace = config::format_duration(settings.grace());
  const std::string ttl = config::format_duration(settings.ttl);
  if (settings.grace_fits()) return {Level::ok, grace + ", ttl " + ttl};
  return {Level::misconfigured,
          fmt::format("{} is more than a third of the ttl of {}: run and acquire refuse it; lower "
                      "--kill-after, or raise --ttl",
                      grace, ttl)};
}

Verdict judge_restart_grace(const Settings& settings) {
  const bool several = settings.servers.size() > 1;
  const std::string grace = config::format_duration(settings.restart_grace);
  const std::string ttl = config::format_duration(settings.ttl);
  if (settings.restart_grace == 0s && several) {
    return {Level::warning,
            "0: a restarted server that forgot a lock gives it to a second holder; raise "
            "--restart-grace, or set appendonly yes there"};
  }
  if (settings.ttl_fits()) return {Level::ok, grace + ", ttl " + ttl};
  return {several ? Level::misconfigured : Level::warning,
          fmt::format("{} is less than the ttl of {}: a restarted server is trusted while a lock "
                      "it forgot still holds{}; raise it on every host",
                      grace, ttl, several ? ", and run and acquire refuse it" : "")};
}

}  // namespace

std::optional<seconds> uptime(const Inspection& inspection) {
  const std::string text = inspection.field("uptime_in_seconds");
  if (text.empty()) return std::nullopt;
  return seconds(std::min<std::uint64_t>(number(text), 1U << 31U));
}

bool keeps_data(const Inspection& inspection) {
  const auto is_database = [](const auto& field) { return field.second.starts_with("keys="); };
  return inspection.field("aof_enabled") == "1" &&
         std::ranges::any_of(inspection.info, is_database);
}

bool can_vote(const Inspection& inspection) {
  return !inspection.trouble && !inspection.scripts_refused && !is_sentinel(inspection) &&
         !is_replica(inspection);
}

std::vector<Finding> diagnose(const redis::Endpoint& server, const Inspection& inspection,
                              const Settings& settings, const Tried& tried,
                              const std::string& twin) {
  std::vector<Finding> findings;
  const auto add = [&](std::string_view check, Verdict verdict) {
    findings.push_back({std::move(verdict), server.display(), check});
  };
  if (inspection.trouble) {
    add("reachable", {failure(*inspection.trouble), inspection.trouble->why});
    return findings;
  }
  if (inspection.no_time) add("time", not_answered("TIME", *inspection.no_time));
  if (inspection.round_trip) add("reachable", judge_round_trip(inspection, settings));
  if (inspection.certificate_expires) {
    add("certificate", judge_certificate(*inspection.certificate_expires));
  }
  if (inspection.no_info) {
    add("info", not_answered("INFO", *inspection.no_info));
  } else if (inspection.info.empty()) {
    add("info", {Level::warning,
                 "INFO is not permitted: restarts, replicas, eviction and two addresses of one "
                 "server go unnoticed (no restart grace); give the user +info"});
  } else {
    if (auto lacking = judge_fields(inspection)) add("info", std::move(*lacking));
    add("version", judge_version(inspection));
    add("role", judge_role(server, inspection, settings));
    if (is_sentinel(inspection)) return findings;
    if (!twin.empty()) {
      add("distinct", {Level::misconfigured, "is the same server as " + twin +
                                                 ", and a server has one vote; leave one out"});
    }
    const std::string run_id = inspection.field("run_id");
    const auto another = std::ranges::find_if(inspection.run_ids, [&](const std::string& found) {
      return !found.empty() && found != run_id;
    });
    if (another != inspection.run_ids.end()) {
      add("distinct",
          {Level::misconfigured,
           fmt::format("this address leads to several servers (run_id {} and {}), so that two jobs "
                       "may have one lock; give one that leads to a single server, or each as a "
                       "server of its own",
                       shown(run_id).substr(0, 8), shown(*another).substr(0, 8))});
    }
    add("uptime", judge_uptime(inspection, settings));
    add("persistence", judge_persistence(inspection, settings));
    if (!inspection.field("maxmemory").empty()) add("memory", judge_memory(inspection));
  }
  if (inspection.no_messages) {
    add("messages",
        {Level::warning, "SUBSCRIBE is not answered (" + inspection.no_messages->why +
                             "), so that waiters are not woken, but ask again after up to 5 s"});
  }
  if (inspection.ahead) add("clock", judge_clock(inspection));
  // On a replica every script fails, whatever the permissions.
  if (!is_replica(inspection)) add("permissions", judge_permissions(inspection, settings, tried));
  return findings;
}

std::vector<Finding> diagnose_set(const Settings& settings) {
  std::vector<Finding> findings;
  const auto add = [&](std::string_view check, Verdict verdict) {
    findings.push_back({std::move(verdict), {}, check});
  };
  for (const std::string& warning : settings.warnings) add("settings", {Level::warning, warning});
  std::string hashes;
  const diag::ServerList list = driver::server_list(settings);
  for (const auto& [hash, name] : list.servers()) {
    hashes += fmt::format("{}{} {}", hashes.empty() ? "" : ", ", name, hash);
  }
  add("fingerprint",
      {Level::ok, fmt::format("{}: the same on every host with the same servers ({})",
                              driver::server_set_fingerprint(settings.servers), hashes)});
  add("kill-after", judge_grace(settings));
  add("restart-grace", judge_restart_grace(settings));
  return findings;
}

}  // namespace redlock::check
