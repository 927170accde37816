// SPDX-License-Identifier: MIT
//
// The questions of status, list, history and check, to a server that this test plays itself.
#include "doctest.h"

#include <optional>
#include <string>
#include <vector>

#include "check/inspector.h"
#include "contains.h"
#include "observe/observer.h"
#include "played_server.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"

namespace redlock::check_questions_test {

using namespace std::chrono_literals;
using tests::array_of;
using tests::contains;
using tests::PlayedServer;

namespace {

const lock::Instant kStart = lock::Instant{} + 100s;
const std::string kToken(40, 'a');

TEST_CASE("a late answer is not taken for that to the next question") {
  PlayedServer server;
  redis::Questions questions;
  questions.connect(server.endpoint(), nullptr, {.request = 200ms});
  std::optional<redis::Questions::Answer> answer;
  const auto take = [&answer](redis::Questions::Answer given, lock::Instant) {
    answer = std::move(given);
  };
  questions.ask(0, {{redis::encode_revoke("L", kToken, "revoked:" + kToken)}}, take, kStart);
  server.read();
  questions.turn(kStart + 201ms);
  REQUIRE(questions.finished());
  CHECK(std::holds_alternative<lock::Unreachable>(answer->content));
  lock::Sighting seen;
  seen.kind = lock::Sighting::Kind::value;
  seen.value = kToken;
  questions.ask(0, redis::encode_remove("L", seen, kToken, {}), take, kStart + 202ms);
  CHECK(contains(server.read(), "DEL"));
  server.write("*2\r\n$7\r\nrevoked\r\n:1\r\n");
  questions.turn(kStart + 203ms);
  CHECK_FALSE(questions.finished());
  server.write(array_of({"missing"}));
  questions.turn(kStart + 204ms);
  REQUIRE(questions.finished());
  const redis::Taken taken = redis::read_taken(std::get<redis::Value>(answer->content));
  CHECK(std::holds_alternative<lock::Missing>(taken.answer));
}

TEST_CASE("of the round trips of an inspection the shortest one counts, whichever that is") {
  for (const bool first_is_short : {false, true}) {
    CAPTURE(first_is_short);
    PlayedServer server;
    redis::Questions questions;
    check::Inspector inspector(
        questions, questions.connect(server.endpoint(), nullptr, {.request = 200ms}), "L", false);
    inspector.start(kStart);
    lock::Instant now = kStart;
    // The first answer had to wait for the connection.
    for (const lock::Duration took :
         {lock::Duration(1ms), lock::Duration(first_is_short ? 5ms : 90ms),
          lock::Duration(first_is_short ? 90ms : 5ms)}) {
      CHECK(contains(server.read(), "TIME"));
      server.write(array_of({"1700000000", "0"}));
      questions.turn(now += took);
    }
    CHECK(inspector.inspection().round_trip == 5ms);
  }
}

TEST_CASE("a late answer to an inspection begins nothing while its lock is swept away") {
  PlayedServer server;
  redis::Questions questions;
  check::Inspector inspector(
      questions, questions.connect(server.endpoint(), nullptr, {.request = 200ms}), "L", false);
  inspector.start(kStart);
  CHECK(contains(server.read(), "TIME"));
  questions.turn(kStart + 201ms);
  CHECK(contains(server.read(), "EVAL"));
  questions.turn(kStart + 402ms);
  REQUIRE(questions.finished());
  inspector.sweep(check::Inspector::Remains::expected, kStart + 402ms);
  CHECK(contains(server.read(), "DEL"));
  server.write(array_of({"1700000000", "0"}));
  questions.turn(kStart + 203ms);
  CHECK_FALSE(questions.finished());
  CHECK(server.read().empty());
  server.write("+OK\r\n:2\r\n");
  questions.turn(kStart + 204ms);
  CHECK(questions.finished());
}

TEST_CASE("a reader that we ask for is named to the server; those that cannot be are not shown") {
  PlayedServer server;
  redis::Questions questions;
  observe::Observer observer(questions, questions.connect(server.endpoint(), nullptr, {}));
  const std::string token = "s" + std::string(39, 'a');
  observer.look({"L"}, observe::Marks::ignored, token, kStart);
  CHECK(contains(server.read(), token));
  const std::vector<std::string> readers = {
      array_of({token, "9", "{}", "1", "x"}), array_of({"s", "9", "{}", "1", "x"}),
      array_of({token, "x", "{}", "1", "x"}),
      array_of({token, "9", std::string(8193, 'x'), "1", "x"}),
      array_of({token, "9", "{}", "1", std::string(81, 'x')})};
  server.write(
      "*13\r\n$4\r\nseen\r\n$6\r\nstring\r\n$1\r\nx\r\n:9\r\n$2\r\n{}\r\n$1\r\n0\r\n:0\r\n"
      "$0\r\n\r\n:0\r\n$0\r\n\r\n*" +
      std::to_string(readers.size()) + "\r\n");
  for (const std::string& reader : readers) server.write(reader);
  server.write(":1\r\n:-5000\r\n*2\r\n$7\r\nwaiting\r\n:0\r\n");
  questions.turn(kStart);
  REQUIRE(questions.finished());
  const auto seen = std::get<lock::Sighting>(observer.take(0).seen);
  CHECK(seen.readers.size() == 1);
  CHECK(seen.lease_left == -5s);
}

TEST_CASE("a Cluster that cannot be asked for its map: the reason is kept") {
  redis::Questions questions;
  redis::Endpoint nobody = redis::parse_uri("redis+cluster://127.0.0.1:1");
  observe::Observer observer(questions, questions.connect(nobody, nullptr, {.request = 200ms}));
  observer.scan("holder", kStart);
  for (auto at = kStart; at < kStart + 100s && !questions.finished(); at += 1s) questions.turn(at);
  CHECK(observer.trouble());
}

}  // namespace

}  // namespace redlock::check_questions_test
