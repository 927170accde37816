// SPDX-License-Identifier: MIT
#include "records/records.h"

#include "doctest.h"

#include "lock/time.h"

namespace redlock::records {
namespace {

using std::chrono::milliseconds;

const std::string kToken(40, 'a');

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

TEST_CASE("revocation: a written record is read again") {
  for (const bool replaces : {false, true}) {
    const Holder bastion{.host = "bastion",
                         .user = "ops",
                         .pid = 4711,
                         .replaces = replaces,
                         .since = milliseconds(1'800'000'000'000)};
    const std::string value = revoked_value(kToken, bastion);
    CHECK(value.starts_with("revoked:" + kToken + " {"));
    const auto read = read_revocation(value);
    REQUIRE(read);
    CHECK(read->host == bastion.host);
    CHECK(read->user == bastion.user);
    CHECK(read->pid == bastion.pid);
    CHECK(read->since == bastion.since);
    CHECK(read->replaces == replaces);
  }
}

TEST_CASE("revocation: it stays below 600 bytes, whatever the names") {
  for (const char* piece : {"\"", "\\", "x", "\xc3\xa4", "\x01", "\xff"}) {
    std::string name;
    while (name.size() < 5000) name += piece;
    const std::string value = revoked_value(
        kToken,
        {.host = name, .user = name, .pid = 4'194'304, .replaces = true, .since = milliseconds(1)});
    CHECK(value.size() < 600);
    CHECK(read_revocation(value));
  }
}

TEST_CASE("revocation: nothing that a server says is trusted") {
  for (const char* value : {"", "abc", "cooling:abc {}", "revoked:abc", "revoked:abc ",
                            "revoked:abc x", "revoked:abc []", "revoked:abc {", "revoked: {}"}) {
    CAPTURE(value);
    CHECK_FALSE(read_revocation(value));
  }
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

TEST_CASE("a record and a line of the log say what holds of a run, and nothing that does not") {
  const lock::Log log{.event = lock::Log::Event::acquired, .attempt = 1};
  for (bool Holder::*const what :
       {&Holder::maintenance, &Holder::shared, &Holder::unattended, &Holder::unwarned}) {
    for (const bool holds : {false, true}) {
      Holder holder;
      holder.*what = holds;
      const std::string record = to_json(holder);
      CAPTURE(record);
      CHECK((*read_holder(record)).*what == holds);
      const auto line = read_log_entry(to_json(log_entry(log, holder)));
      REQUIRE(line);
      CHECK(line->who.*what == (holds && what != &Holder::unwarned));  // that ends with the hold
    }
  }
}

TEST_CASE("a holder's message is read as it was written, and nothing of another type") {
  Holder holder;
  holder.message = "say \"hi\" \\ \xc3\xa4";
  CHECK(read_holder(to_json(holder))->message == holder.message);
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
