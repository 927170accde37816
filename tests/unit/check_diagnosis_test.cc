// SPDX-License-Identifier: MIT
//
// Findings of `redlock check` for which no server can be had: what a hostile one says,
// certificates, locks that vanish.
#include "doctest.h"

#include <algorithm>
#include <functional>

#include "check/diagnosis.h"
#include "contains.h"
#include "driver/setup.h"

namespace redlock::tests {
namespace {

using namespace std::chrono_literals;
using check::diagnose;
using check::diagnose_self_test;
using check::diagnose_set;
using check::Finding;
using check::Inspection;
using check::Level;

config::Settings settings_for(std::size_t servers) {
  config::Settings settings;
  for (std::size_t server = 0; server < servers; ++server) {
    settings.servers.push_back(redis::parse_uri("redis://db" + std::to_string(server)));
  }
  return settings;
}

Inspection healthy() {
  Inspection inspection;
  inspection.round_trip = 1ms;
  inspection.ahead = 0ms;
  inspection.appendfsync = "everysec";
  inspection.info = {{"redis_version", "7.0.15"},  {"redis_mode", "standalone"},
                     {"role", "master"},           {"run_id", "a"},
                     {"uptime_in_seconds", "999"}, {"aof_enabled", "1"},
                     {"maxmemory", "0"},           {"maxmemory_policy", "noeviction"}};
  return inspection;
}

Level worst(const std::vector<Finding>& findings) {
  return findings.empty() ? Level::ok
                          : std::ranges::max_element(findings, {}, &Finding::level)->level;
}

Level diagnosed(const Inspection& inspection) {
  const config::Settings settings = settings_for(1);
  return worst(diagnose(settings.servers[0], inspection, settings, {"L", true}, ""));
}

TEST_CASE("diagnosis: a sentinel, a node of a cluster, as Redis and as Valkey says it") {
  for (const char* const field : {"redis_mode", "server_mode"}) {
    for (const auto& [mode, level] : {std::pair{"standalone", Level::ok},
                                      {"sentinel", Level::misconfigured},
                                      {"cluster", Level::warning}}) {
      Inspection inspection = healthy();
      inspection.info.erase("redis_mode");
      inspection.info[field] = mode;
      CHECK(diagnosed(inspection) == level);
    }
  }
}

TEST_CASE("diagnosis: a Cluster by name that is none, and which node is the primary") {
  config::Settings settings = settings_for(1);
  Inspection inspection = healthy();
  inspection.place = "node db0:7000";
  const auto role_as = [&](const std::string& uri) {
    settings.servers[0] = redis::parse_uri(uri);
    for (const Finding& finding :
         diagnose(settings.servers[0], inspection, settings, {"L", true}, "")) {
      if (finding.check == "role") return finding.text;
    }
    return std::string("none");
  };
  CHECK(role_as("redis+cluster://db0") ==
        "is not a Redis Cluster; write redis:// in place of redis+cluster://");
  CHECK(role_as("redis+sentinel://db0/service") == "node db0:7000 is a primary without replicas");
  CHECK(role_as("redis://db0") == "a primary without replicas");
  inspection.info["connected_slaves"] = "2";
  CHECK(
      contains(role_as("redis+sentinel://db0/service"), "use --replicas 1 on every host, or set"));
  CHECK(contains(role_as("redis://db0"), "a primary with 2 replicas"));
  inspection.info["min_slaves_good_slaves"] = "2";
  CHECK(contains(role_as("redis+sentinel://db0/service"), "a primary with 2 replicas"));
  inspection.info.erase("min_slaves_good_slaves");
  settings.replicas = 1;
  CHECK(contains(
      role_as("redis+sentinel://db0/service"),
      "a primary with 2 replicas; its vote counts once it has reached 1 of them (--replicas)"));
  inspection.info["connected_slaves"] = "0";
  inspection.info["redis_mode"] = "cluster";
  CHECK(role_as("redis+cluster://db0") == "node db0:7000 is a primary without replicas");
  inspection.info["redis_mode"] = "standalone";
  inspection.info["role"] = "active-replica";
  CHECK(role_as("redis://db0") ==
        "is an active replica and can give no vote; set active-replica no there");
}

TEST_CASE("diagnosis: how long a certificate lasts") {
  Inspection inspection = healthy();
  const auto now = std::chrono::system_clock::now();
  inspection.certificate_expires = now + 24h * 30;
  CHECK(diagnosed(inspection) == Level::ok);
  inspection.certificate_expires = now + 24h * 13;
  CHECK(diagnosed(inspection) == Level::warning);
  inspection.certificate_expires = now - 1s;
  CHECK(diagnosed(inspection) == Level::misconfigured);
}

TEST_CASE("diagnosis: memory, from what share of maxmemory on") {
  const std::pair<const char*, Level> cases[] = {{"0", Level::ok},
                                                 {"89999", Level::ok},
                                                 {"90000", Level::warning},
                                                 {"99999", Level::warning},
                                                 {"100000", Level::outage}};
  for (const auto& each : cases) {
    CAPTURE(each.first);
    Inspection inspection = healthy();
    inspection.info["maxmemory"] = "100000";
    inspection.info["used_memory"] = each.first;
    CHECK(diagnosed(inspection) == each.second);
  }
}

TEST_CASE("diagnosis: each finding in words, with the cure that fits the settings") {
  struct Case {
    std::string_view check;
    std::function<void(Inspection&, config::Settings&)> edit;
    Level level;
    std::string text;  ///< empty: no such finding
  };
  const auto set = [](const char* field, const char* value) {
    return [=](Inspection& seen, config::Settings&) { seen.info[field] = value; };
  };
  const std::string no_file =
      "no append-only file: a restart frees all locks, even those of "
      "running jobs; set appendonly yes there, or ";
  const auto no_aof = [](std::size_t servers, std::chrono::seconds grace) {
    return [=](Inspection& seen, config::Settings& settings) {
      seen.info["aof_enabled"] = "0";
      settings.servers = settings_for(servers).servers;
      settings.restart_grace = grace;
    };
  };
  const auto up = [](const char* seconds, std::chrono::seconds grace) {
    return [=](Inspection& seen, config::Settings& settings) {
      seen.info["uptime_in_seconds"] = seconds;
      settings.restart_grace = grace;
    };
  };
  const auto list = [](std::vector<std::string> Inspection::*member,
                       std::vector<std::string> words) {
    return [=](Inspection& seen, config::Settings&) { seen.*member = words; };
  };
  const auto ahead = [](std::chrono::milliseconds time) {
    return [=](Inspection& seen, config::Settings&) { seen.ahead = time; };
  };
  const auto fsync = [](std::size_t servers) {
    return [=](Inspection& seen, config::Settings& settings) {
      seen.appendfsync = "no";
      settings.servers = settings_for(servers).servers;
    };
  };
  const std::string lacks =
      "the user lacks permissions, or the server has renamed commands; give it";
  const std::string cannot_save =
      "cannot save to disk and may refuse all writes; see its log, disk space and permissions "
      "there";
  const std::string by_ntp =
      " this host's; set both by NTP (locks do not need it, fencing numbers do when a server loses "
      "its data)";
  using enum Level;
  const std::vector<Case> cases = {
      {"reachable", [](Inspection& seen, auto&) { seen.round_trip = 100ms; }, ok,
       "answers in 100 ms; time-out 200ms"},
      {"reachable", [](Inspection& seen, auto&) { seen.round_trip = 101ms; }, warning,
       "takes 101 ms to answer, more than half of the time-out of 200ms; raise --server-timeout"},
      {"reachable",
       [](Inspection& seen, config::Settings& settings) {
         seen.round_trip = 101ms;
         settings.ttl = 1s;
       },
       warning,
       "takes 101 ms to answer, more than half of the time-out of 100ms; raise the ttl (the "
       "time-out is a tenth of it)"},
      {"info",
       [](Inspection& seen, auto&) {
         seen.info.erase("run_id");
         seen.info.erase("maxmemory");
       },
       warning,
       "INFO has no run_id: restarts and two addresses of one server go unnoticed (no restart "
       "grace); no maxmemory: eviction goes unnoticed"},
      {"version", set("redis_version", "4.0.1"), misconfigured,
       "Redis 4.0.1 is too old; Redis 5 or later is needed"},
      {"version", set("redis_version", "5.0.0"), ok, "Redis 5.0.0"},
      {"version", set("valkey_version", "8.0.1"), ok, "Valkey 8.0.1"},
      {"uptime", up("60", 60s), warning,
       "started only 60 s ago, and may have forgotten a lock; trusted in 1 s (see "
       "--restart-grace)"},
      {"uptime", up("61", 60s), ok, "up for 1m 1s"},
      {"uptime", up("0", 0s), ok, "up for less than a second"},
      {"uptime", up("99999999999999999", 60s), ok, "up for 24855d 3h"},
      {"persistence", no_aof(1, 60s), warning, no_file + "use several servers"},
      {"persistence", no_aof(3, 0s), warning, no_file + "raise --restart-grace"},
      {"persistence", no_aof(3, 60s), ok,
       "no append-only file: it forgets its locks when restarted, the others do not"},
      {"persistence", fsync(1), warning,
       "appendfsync no: a crash can lose the locks of the last half minute; set appendfsync "
       "everysec or always there"},
      {"persistence", fsync(3), ok, "append-only file, appendfsync no"},
      {"persistence", set("aof_last_write_status", "err"), warning, cannot_save},
      {"persistence", set("rdb_last_bgsave_status", "err"), warning, cannot_save},
      {"persistence", set("aof_last_write_status", "ok"), ok,
       "append-only file, appendfsync everysec"},
      {"memory",
       [](Inspection& seen, auto&) {
         seen.info["maxmemory"] = "100";
         seen.info["maxmemory_policy"] = "allkeys-lru";
         seen.info["evicted_keys"] = "7";
       },
       misconfigured,
       "a held lock may be evicted: maxmemory-policy allkeys-lru (7 keys were); set "
       "maxmemory-policy noeviction there"},
      {"clock", ahead(-5000ms), ok, "5 s behind this host's"},
      {"clock", ahead(5000ms), ok, "5 s ahead of this host's"},
      {"clock", ahead(-5001ms), warning, "5 s behind" + by_ntp},
      {"clock", ahead(5001ms), warning, "5 s ahead of" + by_ntp},
      {"distinct", list(&Inspection::run_ids, {"", "a"}), ok, ""},
      {"distinct", list(&Inspection::run_ids, {"a", "b"}), misconfigured,
       "this address leads to several servers (run_id a and b), so that two jobs may have one "
       "lock; give one that leads to a single server, or each as a server of its own"},
      {"permissions", set("role", "slave"), ok, ""},
      {"permissions", list(&Inspection::denied, {"get", "&"}), misconfigured,
       lacks + " +get &redlock*:told:*"},
      {"permissions", list(&Inspection::denied, {"time"}), warning,
       lacks + " +time (redlock-protocol(7) says what happens without them)"},
      {"permissions", list(&Inspection::denied_redisson, {"lindex", "&"}), warning,
       "the user may not do all that --as redisson needs; give it +lindex &redisson_lock* and "
       "~redisson_lock_queue:*"},
      {"permissions", list(&Inspection::denied_redisson, {"hlen"}), warning,
       "the user may not do all that --as redisson needs; give it +hlen"},
      {"permissions",
       [](Inspection& seen, config::Settings& settings) {
         seen.may_log = false;
         settings.log_entries = 0;
       },
       ok, "the user may do all that is needed"},
  };
  for (const Case& each : cases) {
    CAPTURE(&each - cases.data());
    CAPTURE(each.text);
    config::Settings settings = settings_for(1);
    Inspection inspection = healthy();
    inspection.may_log = inspection.may_queue = true;
    each.edit(inspection, settings);
    const auto found = diagnose(settings.servers[0], inspection, settings, {"L", true}, "");
    const auto finding = std::ranges::find(found, each.check, &Finding::check);
    CHECK((finding == found.end()) == each.text.empty());
    if (finding == found.end()) continue;
    CHECK(finding->text == each.text);
    CHECK(finding->level == each.level);
  }
}

TEST_CASE("diagnosis: a hint to try a name goes to a user who gave none") {
  for (const bool ours : {false, true}) {
    Inspection inspection = healthy();
    inspection.scripts_refused = lock::Unreachable{true, true, "no permission"};
    const config::Settings settings = settings_for(1);
    const auto found = diagnose(settings.servers[0], inspection, settings, {"L", ours}, "");
    CHECK((found.back().text.find("redlock check NAME") != std::string::npos) == ours);
  }
  Inspection inspection = healthy();
  for (const bool file : {false, true}) {
    for (const bool keys : {false, true}) {
      inspection.info["aof_enabled"] = file ? "1" : "0";
      inspection.info["db0"] = keys ? "keys=1" : "";
      CHECK(keeps_data(inspection) == (file && keys));
    }
  }
}

TEST_CASE("diagnosis: a hostile server's words are cut and cleaned") {
  for (const char* field : {"redis_version", "maxmemory", "used_memory", "uptime_in_seconds",
                            "role", "maxmemory_policy", "aof_enabled"}) {
    for (const std::string& value :
         {std::string("-1"), std::string("99999999999999999999999"), std::string(5000, 'x'),
          std::string("9\x1b[31m"), std::string()}) {
      CAPTURE(field);
      Inspection inspection = healthy();
      inspection.info["maxmemory"] = "1";
      inspection.info[field] = value;
      inspection.denied = {value};
      const config::Settings settings = settings_for(1);
      for (const Finding& finding :
           diagnose(settings.servers[0], inspection, settings, {"L", true}, "")) {
        CHECK(finding.text.size() < 400);
        CHECK(finding.text.find('\x1b') == std::string::npos);
      }
    }
  }
}

/// What is said of three servers with a lock that was had, one of them with these steps.
Level tried(check::SelfTestResult::Steps steps) {
  check::SelfTestResult self_test;
  self_test.outcome = {lock::Outcome::Kind::job_ended};
  self_test.servers.assign(3, {lock::Granted{}, lock::Renewed{}, lock::Released{}});
  self_test.servers[2] = std::move(steps);
  self_test.grant = lock::report::Acquired{1, 7, 2, 1ms, 30s};
  return worst(diagnose_self_test(self_test, settings_for(3), {"L", true}));
}

TEST_CASE("diagnosis: a vote that is missing, a lock that vanishes, or cannot be released") {
  using namespace lock;
  CHECK(tried({Granted{}, Renewed{}, Released{}}) == Level::ok);
  CHECK(tried({Granted{}, Missing{}, Missing{}}) == Level::misconfigured);
  CHECK(tried({Granted{}, Renewed{}, Missing{}}) == Level::misconfigured);
  CHECK(tried({Granted{}, Renewed{}, NotMine{"x"}}) == Level::misconfigured);
  CHECK(tried({Granted{}, Unreachable{}, Released{}}) == Level::outage);
  CHECK(tried({Granted{}, Renewed{}, Unreachable{}}) == Level::warning);
  CHECK(tried({Refused{"x", {}, {}}, Renewed{}, Released{}}) == Level::warning);
  CHECK(tried({Unreachable{}, Renewed{}, Released{}}) == Level::outage);
  CHECK(tried({std::nullopt, Renewed{}, Released{}}) == Level::outage);
}

TEST_CASE("diagnosis: a lock that was used before waits until a quorum is trusted") {
  for (int each = 0; each < 64; ++each) {
    const std::array<int, 3> waits{each % 4, each / 4 % 4, each / 16};  // 3: it gave no vote
    for (const bool kept_data : {false, true}) {
      CAPTURE(each);
      check::SelfTestResult self_test;
      for (const int wait : waits) {
        auto& server = self_test.servers.emplace_back();
        if (wait == 3) continue;
        server.acquired = lock::Granted{.run_id = {}, .distrusted_for = std::chrono::seconds(wait)};
        server.kept_data = kept_data;
      }
      const auto trusted_at = [&waits](int wait) {
        return std::ranges::count_if(waits, [wait](int other) { return other <= wait; }) >= 2;
      };
      const bool used = kept_data || std::ranges::count(waits, 0) > 0;
      const int least = !used || trusted_at(0) ? 0 : trusted_at(1) ? 1 : trusted_at(2) ? 2 : 0;
      CHECK(known_name_waits(self_test).count() == least);
    }
  }
}

TEST_CASE("diagnosis: how a lock that was not had is told") {
  check::SelfTestResult self_test;
  self_test.servers.resize(1);
  const auto told = [&self_test](bool ours = true) {
    return diagnose_self_test(self_test, settings_for(1), {"L", ours});
  };
  self_test.outcome = {lock::Outcome::Kind::conflict};
  CHECK(worst(told(false)) == Level::ok);
  CHECK(worst(told()) == Level::outage);
  self_test.servers[0].acquired = lock::Unreachable{true, false, "gone fishing"};
  CHECK(worst(told(false)) == Level::outage);
  self_test.servers[0].explained = true;
  CHECK(worst(told(false)) == Level::ok);
  self_test.servers[0] = {};
  self_test.outcome = {lock::Outcome::Kind::misconfigured};
  CHECK(worst(told()) == Level::misconfigured);
  self_test.outcome = {lock::Outcome::Kind::unavailable};
  self_test.complaints = {{0, lock::Unreachable{true, false, "gone fishing"}}};
  CHECK(contains(told().back().text, "redis://db0:6379: gone fishing"));
  CHECK(told().size() == 1);
  self_test.complaints = {{0, lock::Unreachable{}}};
  CHECK(told().back().text.ends_with("redis://db0:6379: no answer came in time"));
  self_test.servers[0].acquired = lock::Unreachable{};
  CHECK(told().size() == 1);
  self_test.servers[0].explained = true;
  CHECK(told().back().text == "a lock could not be acquired; solve the problems above");
  // A lock of another kind needs another name, or --as redisson.
  self_test.outcome = {lock::Outcome::Kind::conflict};
  for (const char* const type : {"hash", "redisson mode", "plain string", "list"}) {
    self_test.holder = lock::Refused{std::string("type:") + type, {}, {}};
    CHECK(worst(told(false)) == (type == std::string_view("list") ? Level::ok : Level::warning));
  }
}

TEST_CASE("diagnosis: the grace and the restart grace") {
  struct Case {
    std::size_t servers;
    std::chrono::milliseconds ttl;
    std::chrono::seconds restart_grace;
    std::optional<std::chrono::milliseconds> kill_after;
    Level level;
  };
  const Case cases[] = {{1, 30s, 1min, {}, Level::ok},
                        {3, 30s, 1min, {}, Level::ok},
                        {3, 30s, 0s, {}, Level::warning},
                        {1, 30s, 0s, {}, Level::ok},
                        {1, 2min, 1min, {}, Level::warning},
                        {3, 2min, 1min, {}, Level::misconfigured},  // run refuses it
                        {1, 30s, 1min, 10s, Level::ok},
                        {1, 30s, 1min, 10'001ms, Level::misconfigured}};
  for (const Case& each : cases) {
    CAPTURE(&each - cases);
    config::Settings settings = settings_for(each.servers);
    settings.ttl = each.ttl;
    settings.restart_grace = each.restart_grace;
    settings.kill_after = each.kill_after;
    CHECK(worst(diagnose_set(settings)) == each.level);
  }
}

}  // namespace
}  // namespace redlock::tests
