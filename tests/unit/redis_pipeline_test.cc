// SPDX-License-Identifier: MIT
#include "redis/connection/pipeline.h"

#include "doctest.h"

#include "pipeline.h"
#include "redis/requests/request.h"

using namespace redlock;
using namespace std::chrono_literals;
using namespace tests;
using lock::Op;

TEST_CASE("an acquire or a repair without an answer may come late once its connection has ended") {
  for (const Op op : {Op::acquire, Op::repair, Op::renew, Op::commit, Op::leave}) {
    for (const bool reported : {false, true}) {
      CAPTURE(static_cast<int>(op));
      Pipeline pipeline;
      add(pipeline, op, 1);
      send(pipeline);
      pipeline.expire(kAsked + 2s, 1s);
      CHECK_FALSE(pipeline.may_come_late(1));  // the release comes after it
      reported ? pipeline.fail({}) : pipeline.clear();
      CHECK(pipeline.may_come_late(1) == (op == Op::acquire || op == Op::repair));
      pipeline.forget_attempt(1);
      CHECK_FALSE(pipeline.may_come_late(1));
    }
  }
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  pipeline.fail({});
  CHECK_FALSE(pipeline.may_come_late(1));  // nothing of it was sent
}

TEST_CASE("an acquire waits until the other attempts are answered, and a release does not") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, "first ");
  add(pipeline, Op::release, 1, "its release ");
  add(pipeline, Op::acquire, 2, "second ");
  CHECK(send(pipeline) == "first its release ");
  CHECK_FALSE(pipeline.can_send());
  CHECK(reply(pipeline));
  CHECK(send(pipeline).empty());
  // It comes ahead of the acquire that waits.
  add(pipeline, Op::leave, 1, "leave ");
  CHECK(send(pipeline) == "leave ");
  reply(pipeline);
  reply(pipeline);
  CHECK(send(pipeline) == "second ");
}

TEST_CASE("a waiter leaves the queue before other requests once that acquire is gone") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, std::string(8000, 'r'));
  send(pipeline);
  // Waits longer than the others: 8 KiB are unanswered.
  add(pipeline, Op::commit, 1, std::string(1000, 'c')).deadline = kAsked + 9s;
  add(pipeline, Op::acquire, 3, "acquire3 ").ask.operation = lock::op::Acquire{.ticket = 7};
  add(pipeline, Op::leave_queue, lock::kNoAttempt, "leave_queue ").deadline = kAsked + 9s;
  CHECK(send(pipeline).empty());
  SUBCASE("it is released") {
    pipeline.cancel_unsent(3);
  }
  SUBCASE("it is late") {
    pipeline.expire(kAsked + 1s, 200ms);
  }
  CHECK(send(pipeline) == "leave_queue ");
}

TEST_CASE("a waiter leaves the queue after a waiting acquire that would put it there again") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, "acquire1 ");
  CHECK(send(pipeline) == "acquire1 ");
  add(pipeline, Op::acquire, 2, "acquire2 ");
  SUBCASE("without a ticket it does not wait") {
    add(pipeline, Op::leave_queue, lock::kNoAttempt, "leave_queue ");
    CHECK(send(pipeline) == "leave_queue ");
  }
  SUBCASE("with a ticket it does") {
    add(pipeline, Op::acquire, 3, "acquire3 ").ask.operation = lock::op::Acquire{.ticket = 7};
    add(pipeline, Op::leave_queue, lock::kNoAttempt, "leave_queue ");
    CHECK(send(pipeline).empty());
    add(pipeline, Op::release, 1, "release1 ");
    CHECK(send(pipeline) == "release1 ");
    CHECK(reply(pipeline));
    CHECK(reply(pipeline));
    CHECK(send(pipeline) == "acquire2 ");
    CHECK(reply(pipeline));
    CHECK(send(pipeline) == "acquire3 leave_queue ");
  }
}

TEST_CASE("beyond 8 KiB unanswered, only the last requests of an attempt are sent") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, std::string(5000, 'a'));
  add(pipeline, Op::renew, 1, std::string(5000, 'r'));
  CHECK(send(pipeline).size() == 5000);
  CHECK_FALSE(pipeline.can_send());
  add(pipeline, Op::release, 1, "release");
  CHECK(send(pipeline) == "release");
}

TEST_CASE("the reply to a note is no arrival") {
  Pipeline pipeline;
  pipeline.add_note(tests::flight_of(1), "note", kAsked);
  send(pipeline);
  CHECK(reply(pipeline, "joined"));
  CHECK(pipeline.empty());
  CHECK(pipeline.take_arrivals().empty());
}

TEST_CASE("an unsent request that times out is never sent; a release and a farewell are") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  add(pipeline, Op::release, 2, "release ");
  add(pipeline, Op::leave_queue, lock::kNoAttempt, "farewell");
  pipeline.expire(kAsked + 999ms, 1s);
  CHECK(pipeline.take_arrivals().empty());
  pipeline.expire(kAsked + 1s, 1s);
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 3);
  CHECK_FALSE(std::get<lock::Unreachable>(arrivals[0].content).maybe_applied);
  CHECK(std::get<lock::Unreachable>(arrivals[1].content).maybe_applied);
  CHECK(send(pipeline) == "release farewell");
}

TEST_CASE("a request that times out keeps its place, and its late reply answers it") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  send(pipeline);
  pipeline.expire(kAsked + 1s, 1s);
  CHECK(pipeline.deadline() == lock::Instant::min());  // that is to be taken
  REQUIRE(pipeline.take_arrivals().size() == 1);
  CHECK(pipeline.overdue() == 1);
  add(pipeline, Op::release, 1);
  send(pipeline);
  reply(pipeline, "granted");
  CHECK(pipeline.overdue() == 0);
  const auto late = pipeline.take_arrivals();
  REQUIRE(late.size() == 1);
  CHECK(late[0].ask.op() == Op::acquire);
  CHECK(pipeline.size() == 1);
}

TEST_CASE("when the connection ends, only what was sent may have been carried out, and is known") {
  Pipeline pipeline;
  for (const lock::AttemptId attempt : {1U, 2U, 3U}) add(pipeline, Op::acquire, attempt);
  send(pipeline);
  pipeline.cancel_unsent(2);
  CHECK(pipeline.size() == 2);
  pipeline.fail({.maybe_applied = true, .permanent = false, .why = "gone"});
  CHECK(pipeline.empty());
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 2);
  CHECK(std::get<lock::Unreachable>(arrivals[0].content).maybe_applied);
  CHECK_FALSE(std::get<lock::Unreachable>(arrivals[1].content).maybe_applied);
  CHECK(pipeline.sent_attempts().size() == 1);
  CHECK(pipeline.sent_attempts().contains(1));
}

TEST_CASE(
    "a vote counts from the first byte that the kernel took, however late it takes the rest") {
  Pipeline pipeline;
  Pipeline::Pending& acquire = add(pipeline, Op::acquire, 1, "acquire");
  REQUIRE(pipeline.next_to_send() == &acquire);
  pipeline.sent(acquire, 0, kAsked - 1s);
  CHECK(pipeline.sent_attempts().empty());
  for (const auto after : {0s, 1s, 2s}) {
    REQUIRE(pipeline.next_to_send() == &acquire);
    pipeline.sent(acquire, after == 2s ? 5 : 1, kAsked + after);
  }
  CHECK(reply(pipeline));
  CHECK(pipeline.take_arrivals().at(0).sent == kAsked);
}

TEST_CASE("of two commands the first one is answered while the second one is still being sent") {
  Pipeline pipeline;
  Pipeline::Pending& release = add(pipeline, Op::release, 1, "release and log", 2);
  CHECK_FALSE(reply(pipeline));
  pipeline.sent(release, 8, kAsked);
  CHECK(reply(pipeline));
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK_FALSE(reply(pipeline));  // it has not got the second one
  CHECK(send(pipeline) == "and log");
  CHECK(reply(pipeline));
  CHECK(pipeline.size() == 0);
}

TEST_CASE("a reply without a request, and a flood of messages") {
  Pipeline pipeline;
  CHECK_FALSE(reply(pipeline));
  pipeline.add({}, {.endless = true}, "SUBSCRIBE", kAsked);
  CHECK_FALSE(reply(pipeline));
  send(pipeline);
  for (int i = 0; i < 16; ++i) CHECK(reply(pipeline));
  CHECK_FALSE(reply(pipeline));
  CHECK(pipeline.take_arrivals().size() == 16);
  CHECK(reply(pipeline));
}

TEST_CASE("replicas: a request is answered when WAIT is") {
  const redis::Flight flight = redis::with_wait({{{.words = {"GET", "k"}}}}, 2, 150ms);
  REQUIRE(flight.commands.size() == 2);
  CHECK(flight.commands[1] == redis::Command{.words = {"WAIT", "2", "150"}});
  Pipeline pipeline;
  pipeline.add({}, flight, "wire", kAsked);
  send(pipeline);
  reply(pipeline, "granted");
  CHECK(pipeline.take_arrivals().empty());
  reply(pipeline, "2");
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 1);
  CHECK(std::get<redis::Value>(arrivals[0].content).text == "granted");
  CHECK(arrivals[0].waited.text == "2");
}

TEST_CASE("a slot that moves: ASKING stands before each command, and its reply is no answer") {
  const redis::Flight flight{.commands = {{.words = {"GET", "k"}}, {.words = {"DEL", "k"}}},
                             .asking = true};
  CHECK(redis::render(flight, true) == bytes_of({"ASKING"}) + bytes_of({"GET", "k"}) +
                                           bytes_of({"ASKING"}) + bytes_of({"DEL", "k"}));
  Pipeline pipeline;
  pipeline.add({}, flight, "wire", kAsked);
  send(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().empty());
  for (const char* const text : {"granted", "OK", "deleted"}) CHECK(reply(pipeline, text));
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 1);
  CHECK(std::get<redis::Value>(arrivals[0].content).text == "granted");
}
