// SPDX-License-Identifier: MIT
//
// acquire, renew and release: what they take, and that no token is repeated in a message.
#include <csignal>

#include "cli_parse.h"

namespace redlock::tests {
namespace {

using namespace std::chrono_literals;

const std::string kToken(40, 'a');

TEST_CASE("acquire: a name, and run's options for waiting") {
  const auto plain = parse_as<cli::Acquire>("acquire", {"L"});
  CHECK(plain.name == "L");
  CHECK_FALSE(plain.json);
  CHECK_FALSE(plain.keep_for);
  CHECK(plain.on_lost_signal == 0);
  const auto full =
      parse_as<cli::Acquire>("acquire", {"-nE", "9", "--ttl", "1m", "L", "-w", "5",
                                         "--keep-for=4711", "--on-lost-signal", "INT", "--json"});
  CHECK(full.settings.wait == 0s);
  CHECK(full.settings.ttl == 1min);
  CHECK(full.settings.conflict_exit_code == 9);
  CHECK(full.keep_for == 4711);
  CHECK(full.on_lost_signal == SIGINT);
  CHECK(full.json);
}

TEST_CASE("acquire: usage errors") {
  check_usage({"acquire"}, "no lock name", kOne);
  check_usage({"acquire", "L", "true"}, "redlock run", kOne);
  check_usage({"acquire", "L", "--", "true"}, "redlock run", kOne);
  check_usage({"acquire", "a\nb"}, "control bytes", kOne);
  for (const char* const pid : {"0", "-1", "me"}) {
    check_usage({"acquire", "--keep-for", pid, "L"}, "--keep-for", kOne);
  }
  check_usage({"acquire", "--keep-for", "1", "--on-lost-signal", "NO", "L"}, "--on-lost-signal",
              kOne);
  check_usage({"acquire", "--min-hold", "1m", "L"}, "unknown option", kOne);
  check_config({"acquire", "L"}, "no servers");
}

TEST_CASE("renew, release: a name and a token") {
  const auto renew = parse_as<cli::Renew>("renew", {"L", kToken});
  CHECK(renew.name == "L");
  CHECK(renew.token == kToken);
  CHECK_FALSE(renew.has_ttl);
  const auto release = parse_as<cli::Release>("release", {"-v", "L", "--server-wait", "1", kToken});
  CHECK(release.name == "L");
  CHECK(release.token == kToken);
  CHECK(release.settings.server_wait == 1s);
  CHECK(parse_as<cli::Renew>("renew", {"L", "-"}).token.empty());
  CHECK(parse_as<cli::Release>("release", {"L", "-"}).token.empty());
}

TEST_CASE("release --force: waits for no server, whatever a setting says") {
  for (const Words& words : {Words{"release", "--force", "--server-wait", "1", "L"},
                             Words{"release", "L", "--server-wait=10s", "--yes", "--force"}}) {
    check_usage(words, "--server-wait needs a token", kOne);
  }
  for (const std::string option : {"--force", "--forget-build"}) {
    const Failure got = failure({"release", option, "L", kToken}, kOne);
    check_failure(got, ExitStatus::usage,
                  "too many arguments: redlock release " + option + " NAME");
    CHECK_FALSE(contains(got.message, kToken));
    check_usage({"release", option, "--server-wait=1", "L"}, "with " + option, kOne);
    check_usage({"release", option}, "no lock name: redlock release " + option, kOne);
  }
  for (const char* command : {"renew", "release"}) {
    CHECK(contains(failure({command, "L"}, kOne).message, "redlock release --force NAME") ==
          (command == std::string_view("release")));
  }
  check_usage({"release", "--force", "--now", "--wait", "L"}, "exclude each other", kOne);
  CHECK(parse_as<cli::ForceRelease>("release", {"--force", "L"}, {{"REDLOCK_SERVER_WAIT", "1"}})
            .name == "L");
}

TEST_CASE("renew: the ttl is the lock's own unless an option gives another") {
  CHECK_FALSE(parse_as<cli::Renew>("renew", {"L", kToken}, {{"REDLOCK_TTL", "5m"}}).has_ttl);
  const auto given =
      parse_as<cli::Renew>("renew", {"--ttl", "20s", "L", kToken}, {{"REDLOCK_TTL", "5m"}});
  CHECK(given.has_ttl);
  CHECK(given.settings.ttl == 20s);
  check_usage({"renew", "--ttl", "5m", "L", kToken}, "--restart-grace",
              {{"REDLOCK_SERVERS", "redis://one redis://two"}});
}

TEST_CASE("renew, release: a wrong token is told, and not repeated") {
  for (const std::string command : {"renew", "release"}) {
    const std::vector<std::pair<Words, std::string>> wrong = {
        {{command}, "no lock name"},
        {{command, "L"}, "no token: redlock " + command},
        {{command, "L", ""}, "this is not a token"},
        {{command, "L", kToken, "more"}, "too many arguments"},
        {{command, "L", kToken.substr(1)}, "this is not a token"},
        {{command, "L", kToken + "a"}, "this is not a token"},
        {{command, "L", std::string(40, 'A')}, "this is not a token"},
        {{command, "L", "secret"}, "this is not a token"},
        {{command, kToken, "deploy"}, "this is not a token"},
        {{command, "L", "--", kToken}, "too many arguments"},
    };
    for (const auto& [words, part] : wrong) {
      const Failure got = failure(words, kOne);
      CAPTURE(got.message);
      CHECK(got.status == ExitStatus::usage);
      CHECK(contains(got.message, part));
      CHECK_FALSE(contains(got.message, kToken.substr(1)));
      CHECK_FALSE(contains(got.message, "AAAA"));
      CHECK_FALSE(contains(got.message, "secret"));
    }
  }
}

TEST_CASE("hold: a name, how long, and run's options for waiting") {
  const auto plain = parse_as<cli::Hold>("hold", {"L", "--for", "2h"});
  CHECK(plain.name == "L");
  CHECK(plain.length == 2h);
  CHECK_FALSE(plain.until);
  CHECK_FALSE(plain.json);
  CHECK(plain.settings.message.empty());
  const auto full = parse_as<cli::Hold>(
      "hold", {"-nE", "9", "--for=30d", "-m", "new disk", "--json", "L", "-w", "5"});
  CHECK(full.length == 720h);
  CHECK(full.settings.wait == 0s);
  CHECK(full.settings.conflict_exit_code == 9);
  CHECK(full.settings.message == "new disk");
  CHECK(full.json);
  const auto until = parse_as<cli::Hold>("hold", {"--until", "1h", "L"});
  REQUIRE(until.until);
  CHECK(until.length <= 1h);
  CHECK(until.length > 59min);
}

TEST_CASE("the rules for a ttl and a grace are only for the commands that use them") {
  const Variables three = {{"REDLOCK_SERVERS", "redis://one redis://two redis://three"},
                           {"REDLOCK_TTL", "5m"},
                           {"REDLOCK_KILL_AFTER", "101s"}};
  for (const Words& words :
       {Words{"renew", "L", kToken}, Words{"renew", "--ttl", "9s", "L", kToken},
        Words{"release", "L", kToken}, Words{"release", "--force", "L"}, Words{"status", "L"},
        Words{"list"}, Words{"history", "L"}, Words{"check"}, Words{"config"},
        Words{"hold", "--for", "2h", "L"}}) {
    CAPTURE(words.front());
    CHECK(failure(words, three).message == "no error");
  }
  check_usage({"renew", "--ttl", "61s", "L", kToken},
              "--ttl: 1m1s is more than the --restart-grace of 1m", three);
  for (const Words& words : {Words{"run", "L", "--", "true"}, Words{"acquire", "L"}}) {
    check_config(words, "REDLOCK_KILL_AFTER: ", three);
    Variables graceful = three;
    graceful.erase("REDLOCK_KILL_AFTER");
    check_config(words, "REDLOCK_TTL: 5m is more than the --restart-grace of 1m", graceful);
    graceful["REDLOCK_RESTART_GRACE"] = "4m";
    check_config(words, "REDLOCK_TTL: 5m is more than the --restart-grace of 4m", graceful);
    graceful.erase("REDLOCK_TTL");
    graceful["REDLOCK_RESTART_GRACE"] = "20s";
    check_config(words, "REDLOCK_RESTART_GRACE: 20s is less than the ttl of 30s", graceful);
  }
  check_usage({"acquire", "--kill-after=1", "--restart-grace", "4m", "L"},
              "--restart-grace: 4m is less than the ttl of 5m", three);
}

TEST_CASE("hold: usage errors") {
  const auto wrong = [](const Words& words, const std::string& part) {
    check_usage(words, part, kOne);
  };
  wrong({"hold", "L"}, "--until");
  wrong({"hold", "--for", "1h"}, "no lock name");
  wrong({"hold", "--for", "1h", "L", "true"}, "redlock run");
  wrong({"hold", "--for", "1h", "--until", "2h", "L"}, "exclude each other");
  for (const char* text : {"", "0", "999ms", "31d", "5w", "-1", "1y", "soon"}) {
    wrong({"hold", std::string("--for=") + text, "L"}, "--for: expected a time from 1s to 30d");
  }
  for (const char* text : {"", "now", "yesterday", "today", "2020-01-01", "0s", "31d", "2h ago"}) {
    wrong({"hold", std::string("--until=") + text, "L"}, "--until: expected a time in the future");
  }
  wrong({"hold", "--for", "1h", "--ttl", "30s", "L"}, "unknown option");
  wrong({"hold", "--for", "1h", "--keep-for", "1", "L"}, "unknown option");
}

TEST_CASE("renew: a hold's new length") {
  const auto renew = parse_as<cli::Renew>("renew", {"--for", "3d", "L", kToken});
  CHECK(renew.length == 72h);
  CHECK_FALSE(renew.has_ttl);
  CHECK_FALSE(parse_as<cli::Renew>("renew", {"--ttl", "3s", "L", kToken}).length);
  check_usage({"renew", "--for", "1h", "--ttl", "1m", "L", kToken}, "--ttl excludes --for", kOne);
}

TEST_CASE("a message is an option of what takes a lock") {
  CHECK(parse_as<cli::Acquire>("acquire", {"-m", "why", "L"}).settings.message == "why");
  CHECK(parse_as<cli::Run>("run", {"--message=-x", "L", "true"}).settings.message == "-x");
  check_usage({"release", "-m", "why", "L", kToken}, "unknown option", kOne);
}

}  // namespace
}  // namespace redlock::tests
