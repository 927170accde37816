// SPDX-License-Identifier: MIT
#include "records/records.h"

#include "doctest.h"

namespace redlock::records {
namespace {

using namespace std::chrono_literals;

const Holder kWho{.host = "web1",
                  .user = "root",
                  .pid = 4711,
                  .command = "./backup.sh 'a b'",
                  .since = {},
                  .ttl = {},
                  .list = "0123456789ab"};

TEST_CASE("a line of the log reads as it was written") {
  const lock::Log log{.event = lock::Log::Event::lost,
                      .attempt = 1,
                      .fence = 12,
                      .waited = 1500ms,
                      .held = 3s,
                      .status = 143,
                      .stopped = lock::StopReason::lease_ending};
  CHECK(word_for(log.event) == "lost");
  const auto read = read_log_entry(to_json(log_entry(log, kWho)));
  REQUIRE(read);
  CHECK(read->who.host == "web1");
  CHECK(read->who.user == "root");
  CHECK(read->who.pid == 4711);
  CHECK(read->who.command == kWho.command);
  CHECK(read->who.list == "0123456789ab");
  CHECK(read->fence == 12);
  CHECK(read->waited == 1500ms);
  CHECK(read->held == 3s);
  CHECK(read->status == 143);
  CHECK(read->reason == "could not be renewed");
}

TEST_CASE("the hold of a run that failed says why, and shows no more of the command than the run") {
  const auto reason = [](std::string command, std::string message, lock::Log log) {
    Holder who = kWho;
    who.command = std::move(command);
    who.message = std::move(message);
    log.hold = 1'499'001us;
    const Holder hold = hold_after(log, who);
    CHECK(hold.maintenance);
    CHECK(hold.command.empty());
    CHECK(hold.ttl == 1500ms);
    CHECK(hold.since > 0ms);
    CHECK(hold.pid == 4711);
    return hold.message;
  };
  const lock::Log failed{.event = lock::Log::Event::released, .attempt = 1, .status = 1};
  CHECK(reason("./deploy.sh", "", failed) == "exit 1 of ./deploy.sh by root@web1");
  CHECK(reason("", "", failed) == "exit 1 by root@web1");
  CHECK(reason("./deploy.sh", "release 7", failed) ==
        "exit 1 of ./deploy.sh by root@web1: release 7");
  lock::Log stopped = failed;
  stopped.status = 143;
  stopped.stopped = lock::StopReason::max_runtime;
  CHECK(reason("a", "", stopped) == "exit 143 (--max-runtime) of a by root@web1");
  const std::string cut = reason(std::string(200, 'x'), std::string(200, 'm'), failed);
  CHECK(cut.starts_with("exit 1 of " + std::string(80, 'x') + "... by root@web1: mmm"));
  CHECK(cut.size() <= kMostMessageBytes);
}

TEST_CASE("what a line of the log does not say is left out, and read as such") {
  const std::string json =
      to_json(log_entry({.event = lock::Log::Event::acquired, .attempt = 1}, kWho));
  for (const char* key : {"held", "status", "reason", "fence"}) {
    CHECK(json.find(key) == std::string::npos);
  }
  const auto read = read_log_entry(json);
  REQUIRE(read);
  CHECK_FALSE(read->held);
  CHECK_FALSE(read->status);
  CHECK(read->fence == 0);
  CHECK(read->reason.empty());
}

TEST_CASE("a line of the log: a revocation by --replace, and each reason of an end") {
  using Reason = lock::StopReason;
  using Event = lock::Log::Event;
  for (const Event event : {Event::acquired, Event::released, Event::lost, Event::revoked}) {
    const auto read = read_log_entry(to_json(log_entry({.event = event, .attempt = 1}, kWho)));
    REQUIRE(read);
    CHECK(read->who.replaces == (event == Event::revoked));
    CHECK(read->reason == (event == Event::lost ? "not ours when the job ended" : ""));
  }
  const std::pair<Reason, const char*> reasons[] = {
      {Reason::lost, "lost"},
      {Reason::lease_ending, "could not be renewed"},
      {Reason::max_runtime, "--max-runtime"},
      {Reason::supervisor_gone, "redlock was killed"}};
  for (const auto& [reason, words] : reasons) {
    CHECK(log_entry({.event = Event::released, .attempt = 1, .stopped = reason}, kWho).reason ==
          words);
  }
}

TEST_CASE("a long command is cut, and what is no UTF-8 replaced") {
  Holder who = kWho;
  who.command = std::string(5000, 'x') + "\xff";
  CHECK(to_json(log_entry({.event = lock::Log::Event::acquired, .attempt = 1}, who)).size() < 400);
  who.command = "\xff";
  CHECK(
      read_log_entry(to_json(log_entry({.event = lock::Log::Event::acquired, .attempt = 1}, who))));
}

TEST_CASE("no field in a line of the log is trusted") {
  CHECK_FALSE(read_log_entry(""));
  CHECK_FALSE(read_log_entry("[]"));
  CHECK_FALSE(read_log_entry("{"));
  const auto odd = read_log_entry(
      R"({"host":1,"pid":"x","waited":-5,"held":1e99,"status":900,"fence":-1,"reason":[],"user":null})");
  REQUIRE(odd);
  CHECK(odd->who.host.empty());
  CHECK(odd->who.pid == 0);
  CHECK(odd->waited == 0ms);
  CHECK_FALSE(odd->held);
  CHECK_FALSE(odd->status);
  CHECK(odd->fence == 0);
  const auto huge = read_log_entry(R"({"held":9223372036854775807,"waited":18446744073709551615})");
  REQUIRE(huge);
  CHECK(*huge->held <= std::chrono::floor<std::chrono::milliseconds>(lock::Duration::max()));
  CHECK_FALSE(huge->waited);
}

TEST_CASE("a line of the log: the message, and the length of a maintenance hold") {
  const lock::Log log{.event = lock::Log::Event::acquired, .attempt = 1};
  Holder who = kWho;
  who.ttl = 2h;
  CHECK(to_json(log_entry(log, who)).find("ttl") == std::string::npos);
  who.message = std::string(5000, '"');
  who.maintenance = true;
  const std::string json = to_json(log_entry(log, who));
  CHECK(json.size() < 800);
  auto read = read_log_entry(json);
  REQUIRE(read);
  CHECK(read->who.message.starts_with(std::string(200, '"')));
  CHECK(read->who.maintenance);
  CHECK(read->who.ttl == 2h);
  // Cut between characters, and what was cut once stays so.
  who.message = std::string(201, 'x') + "\U0002fffd" + "y";
  read = read_log_entry(to_json(log_entry(log, who)));
  REQUIRE(read);
  CHECK(to_json(*read) == to_json(log_entry(log, who)));
}

}  // namespace
}  // namespace redlock::records
