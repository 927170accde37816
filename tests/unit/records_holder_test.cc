// SPDX-License-Identifier: MIT
#include "records/records.h"

#include <doctest/doctest.h>

#include <chrono>

#include "lock/time.h"

namespace redlock::records {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a holder's record reads as it was written") {
  const Holder holder{.host = "web1",
                      .user = "ro\"ot",
                      .pid = 4711,
                      .command = "./backup.sh 'a b'",
                      .build = 9'007'199'254'740'991,
                      .since = milliseconds(1'700'000'000'000),
                      .ttl = milliseconds(30'000),
                      .list = "0123456789ab"};
  const auto read = read_holder(to_json(holder));
  REQUIRE(read);
  CHECK(read->host == holder.host);
  CHECK(read->user == holder.user);
  CHECK(read->pid == holder.pid);
  CHECK(read->command == holder.command);
  CHECK(read->build == holder.build);
  CHECK(read->since == holder.since);
  CHECK(read->ttl == holder.ttl);
  CHECK(read->list == holder.list);
  CHECK(read->protocol == lock::kProtocol);
}

TEST_CASE("a record may be anything") {
  CHECK_FALSE(read_holder(""));
  CHECK_FALSE(read_holder("[1]"));
  CHECK_FALSE(read_holder("{\"host\":"));
  CHECK_FALSE(read_holder("\xff"));
  const auto odd = read_holder(R"({"host":7,"pid":"x","since":1e300,"protocol":null,"more":{}})");
  REQUIRE(odd);
  CHECK(odd->host.empty());
  CHECK(odd->pid == 0);
  CHECK(odd->since == milliseconds(0));
  CHECK(odd->protocol == 0);
}

TEST_CASE("times that others have written are bounded where they are read") {
  for (const char* const time : {"9223372036854775807", "9223372036854775806", "9223372036854",
                                 "18446744073709551615", "-9223372036854775808", "-1"}) {
    CAPTURE(time);
    const std::string number(time);
    const auto holder = read_holder(R"({"since":)" + number + R"(,"ttl":)" + number + "}");
    REQUIRE(holder);
    for (const milliseconds read : {holder->since, holder->ttl}) {
      CHECK(read >= milliseconds(0));
      CHECK(read <= std::chrono::floor<milliseconds>(lock::Duration::max()));
    }
  }
}

TEST_CASE("a command line: a shell would read it so, and it is cut between characters") {
  CHECK(shell_like({"./backup.sh", "a b", ""}) == "./backup.sh 'a b' ''");
  CHECK(shell_like({"sh", "-c", "echo 'x'"}) == R"(sh -c 'echo '\''x'\''')");
  const std::string cut = shell_like({std::string(198, 'x') + "\xc3\xa4 and more"});
  CHECK(cut == "'" + std::string(198, 'x') + "...");
}

TEST_CASE("a holder's message, and that it is a maintenance hold") {
  Holder holder;
  CHECK(to_json(holder).find("message") == std::string::npos);
  CHECK(to_json(holder).find("maintenance") == std::string::npos);
  CHECK(to_json(holder).find("unattended") == std::string::npos);
  CHECK_FALSE(read_holder(to_json(holder))->maintenance);
  CHECK_FALSE(read_holder(to_json(holder))->unattended);
  holder.unattended = true;
  CHECK(read_holder(to_json(holder))->unattended);
  CHECK_FALSE(read_holder(to_json(holder))->unwarned);
  holder.unwarned = true;
  CHECK(read_holder(to_json(holder))->unwarned);
  holder.message = "say \"hi\" \\ \xc3\xa4";
  holder.maintenance = true;
  const auto read = read_holder(to_json(holder));
  REQUIRE(read);
  CHECK(read->message == holder.message);
  CHECK(read->maintenance);
  const auto odd = read_holder(R"({"message":7,"maintenance":"1"})");
  REQUIRE(odd);
  CHECK(odd->message.empty());
  CHECK_FALSE(odd->maintenance);
  CHECK_FALSE(read_holder(R"({"maintenance":0})")->maintenance);
}

TEST_CASE("a message is one line, without control characters, and cut between characters") {
  CHECK(as_message("schema migration") == "schema migration");
  CHECK(as_message("\tone\r\n\r\ntwo  three\n") == "one two three");
  CHECK(as_message("\x1b[2J\x07 \xff") == "?[2J? ?");
  CHECK(as_message(" \n") == "");
  CHECK(as_message(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(as_message(std::string(201, 'x')) == std::string(200, 'x') + "...");
  const std::string cut = as_message(std::string(199, 'x') + "\xc3\xa4");
  CHECK(cut == std::string(199, 'x') + "...");
  CHECK(cut.size() <= kMostMessageBytes);
}

TEST_CASE("a run that gave up: read as it was written, cut, and with a host of one word") {
  const auto read = read_refused(to_json(Refused{"root", "./job 'a b'", "ops@db7 (./x)"}));
  REQUIRE(read);
  CHECK(read->user == "root");
  CHECK(read->command == "./job 'a b'");
  CHECK(read->held_by == "ops@db7 (./x)");
  const std::string longest(5000, 'x');
  CHECK(to_json(Refused{longest, longest, longest}).size() < 600);
  CHECK_FALSE(read_refused("[]"));
  CHECK(as_field("web1") == "web1");
  CHECK(as_field("a b\n") == "a?b?");
  CHECK(as_field("") == "?");
}

}  // namespace
}  // namespace redlock::records
