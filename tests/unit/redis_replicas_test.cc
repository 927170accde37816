// SPDX-License-Identifier: MIT
//
// Requests that count only when a replica has their result, and requests to the node that a slot of
// a Cluster moves to.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <variant>

#include "commands.h"
#include "redis/connection/pipeline.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"

namespace redlock::replicas_test {

using namespace std::chrono_literals;
using lock::Op;
using redis::Flight;
using redis::Value;
using tests::bytes_of;

namespace {

const lock::Instant kStart = lock::Instant{} + 100s;

Value integer(std::int64_t number) {
  return {.type = Value::Type::integer, .integer = number};
}

Value status(const std::string& text) {
  return {.type = Value::Type::status, .text = text};
}

/// Sends the flight, and returns what arrives once `replies` have come.
std::vector<redis::Pipeline::Arrival> answered(const Flight& flight,
                                               const std::vector<Value>& replies) {
  redis::Pipeline pipeline;
  pipeline.add({.attempt = 1, .operation = lock::op::Acquire{}}, flight, "wire", kStart);
  redis::Pipeline::Pending* const pending = pipeline.next_to_send();
  REQUIRE(pending != nullptr);
  pipeline.sent(*pending, pending->wire.size(), kStart);
  for (Value reply : replies) CHECK(pipeline.take_reply(reply));
  return pipeline.take_arrivals();
}

}  // namespace

TEST_CASE("replicas: what makes a vote waits for them, and nothing that takes it back") {
  for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::commit})
    CHECK(redis::is_replicated(op));
  for (const Op op : {Op::release, Op::leave, Op::mark, Op::unmark, Op::inquire, Op::leave_queue}) {
    CHECK_FALSE(redis::is_replicated(op));
  }
}

TEST_CASE("replicas: a vote counts if as many as were asked for have it") {
  const auto counts = [](const lock::Answer& answer, std::int64_t have) {
    return !std::holds_alternative<lock::Unreachable>(redis::read_waited(answer, integer(have), 2));
  };
  for (const lock::Answer& vote : {lock::Answer(lock::Granted{}), lock::Answer(lock::Renewed{}),
                                   lock::Answer(lock::Committed{})}) {
    CHECK(counts(vote, 2));
    CHECK(counts(vote, 3));
    CHECK_FALSE(counts(vote, 1));
    CHECK_FALSE(counts(vote, 0));
    CHECK_FALSE(counts(vote, -1));
    const lock::Answer odd = redis::read_waited(vote, status("OK"), 2);
    CHECK(std::holds_alternative<lock::Unreachable>(odd));
  }
  CHECK(counts(lock::Refused{}, 0));
  CHECK(counts(lock::Missing{}, 0));
}

TEST_CASE("replicas: a grant that too few of them have may last, and must be released") {
  const lock::Answer answer = redis::read_waited(lock::Granted{}, integer(1), 2);
  const auto* const why = std::get_if<lock::Unreachable>(&answer);
  REQUIRE(why != nullptr);
  CHECK(why->maybe_applied);
  CHECK_FALSE(why->permanent);
}

TEST_CASE("replicas: a request is answered when WAIT is") {
  const Flight flight = redis::with_wait({{{.words = {"GET", "k"}}}}, 2, 150ms);
  REQUIRE(flight.commands.size() == 2);
  CHECK(flight.commands[1] == redis::Command{.words = {"WAIT", "2", "150"}});
  CHECK(answered(flight, {status("granted")}).empty());
  const auto arrivals = answered(flight, {status("granted"), integer(1)});
  REQUIRE(arrivals.size() == 1);
  CHECK(std::get<Value>(arrivals[0].content).text == "granted");
  CHECK(arrivals[0].waited.integer == 1);
}

TEST_CASE("a slot that moves: ASKING stands before each command, and its reply is no answer") {
  const Flight flight{.commands = {{.words = {"GET", "k"}}, {.words = {"DEL", "k"}}},
                      .asking = true};
  const std::string asking = bytes_of({"ASKING"});
  CHECK(redis::render(flight, true) ==
        asking + bytes_of({"GET", "k"}) + asking + bytes_of({"DEL", "k"}));
  CHECK(answered(flight, {status("OK")}).empty());
  const auto arrivals =
      answered(flight, {status("OK"), status("granted"), status("OK"), status("deleted")});
  REQUIRE(arrivals.size() == 1);
  CHECK(std::get<Value>(arrivals[0].content).text == "granted");
}

}  // namespace redlock::replicas_test
