// SPDX-License-Identifier: MIT
#include "redis/connection/pipeline.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "commands.h"

using namespace redlock;
using namespace std::chrono_literals;
using lock::Op;
using redis::Flight;
using redis::Pipeline;
using redis::Value;

namespace {

const lock::Instant kStart = lock::Instant{} + 100s;

lock::Ask ask(Op op, lock::AttemptId attempt) {
  return {.server = 0, .attempt = attempt, .operation = tests::operation_of(op)};
}

Pipeline::Pending& add(Pipeline& pipeline, Op op, lock::AttemptId attempt,
                       const std::string& wire = "x") {
  Pipeline::Pending& added = pipeline.add(ask(op, attempt), tests::flight_of(1), wire, kStart);
  added.deadline = kStart + 1s;
  return added;
}

/// Sends all that may be sent, and returns it.
std::string send(Pipeline& pipeline) {
  std::string wire;
  while (Pipeline::Pending* const next = pipeline.next_to_send()) {
    const std::string rest(next->rest());
    wire += rest;
    pipeline.sent(*next, rest.size(), kStart);
  }
  return wire;
}

bool reply(Pipeline& pipeline, const std::string& text = "OK") {
  Value value;
  value.type = Value::Type::status;
  value.text = text;
  return pipeline.take_reply(value);
}

bool redirect(Pipeline& pipeline) {
  Value value;
  value.type = Value::Type::error;
  value.text = "MOVED 12 10.0.0.5:7001";
  return pipeline.take_reply(value, Pipeline::Refusal::redirected);
}

bool refuse(Pipeline& pipeline) {
  Value value;
  value.type = Value::Type::error;
  value.text = "TRYAGAIN Multiple keys request during rehashing of slot";
  return pipeline.take_reply(value, Pipeline::Refusal::for_the_moment);
}

}  // namespace

TEST_CASE("requests that a node has refused with a redirection are sent again, in their order") {
  Pipeline pipeline;
  pipeline.add(ask(Op::renew, 1), tests::flight_of(2), "renew+hold ", kStart).deadline =
      kStart + 1s;
  add(pipeline, Op::release, 1, "release ");
  CHECK(send(pipeline) == "renew+hold release ");
  redirect(pipeline);
  CHECK_FALSE(pipeline.has_refused());
  CHECK(reply(pipeline));  // to the second command of the first request
  CHECK(pipeline.has_refused());
  CHECK_FALSE(pipeline.drained());
  add(pipeline, Op::mark, 1, "mark ");
  CHECK_FALSE(pipeline.can_send());
  redirect(pipeline);
  CHECK(pipeline.drained());
  CHECK(pipeline.take_arrivals().empty());
  pipeline.restore_refused();
  CHECK(pipeline.deadline() == kStart + 1s);  // of the request that was never sent
  CHECK(send(pipeline) == "renew+hold release mark ");
  CHECK(pipeline.sent_attempts().contains(1));
  reply(pipeline);
  REQUIRE(pipeline.take_arrivals().size() == 1);
}

TEST_CASE(
    "what a node refuses for the moment is sent again over the same connection, in its order") {
  Pipeline pipeline;
  pipeline.add(ask(Op::renew, 1), tests::flight_of(2), "renew+hold ", kStart).deadline =
      kStart + 1s;
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  CHECK(pipeline.may_repeat(kStart + 999ms));
  CHECK_FALSE(pipeline.may_repeat(kStart + 1s));
  refuse(pipeline);
  CHECK_FALSE(pipeline.may_repeat(kStart));  // the next reply is that to the second command
  reply(pipeline);
  add(pipeline, Op::leave, 1, "leave ").deadline = kStart + 9s;
  CHECK(pipeline.has_refused());
  CHECK_FALSE(pipeline.can_send());
  CHECK_FALSE(pipeline.drained());
  reply(pipeline);
  CHECK(pipeline.drained());
  CHECK(pipeline.take_arrivals().size() == 1);
  pipeline.repeat_refused();
  CHECK(send(pipeline) == "renew+hold leave ");
  CHECK(pipeline.deadline() == kStart + 1s);  // of its first attempt
  reply(pipeline);
  reply(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 2);
  CHECK(pipeline.empty());
}

TEST_CASE("a request is repeated five times, and then the refusal is its answer") {
  Pipeline pipeline;
  add(pipeline, Op::leave, 1, "leave ");
  for (int attempt = 0; attempt < 5; ++attempt) {
    CHECK(send(pipeline) == "leave ");
    REQUIRE(pipeline.may_repeat(kStart));
    refuse(pipeline);
    CHECK(pipeline.take_arrivals().empty());
    pipeline.repeat_refused();
  }
  send(pipeline);
  CHECK_FALSE(pipeline.may_repeat(kStart));
}

TEST_CASE("a request is not repeated after one that takes its effect back, nor is a note") {
  for (const Op op : {Op::acquire, Op::repair, Op::renew}) {
    for (const Op end : {Op::release, Op::leave, Op::leave_queue}) {
      Pipeline pipeline;
      add(pipeline, op, 1, "request ");
      send(pipeline);
      CHECK(pipeline.may_repeat(kStart));
      add(pipeline, end, 1, "end ");
      CHECK_FALSE(pipeline.may_repeat(kStart));
    }
  }
  Pipeline pipeline;
  add(pipeline, Op::leave, 1, "leave ");
  add(pipeline, Op::leave_queue, 1, "leave_queue ");
  send(pipeline);
  CHECK(pipeline.may_repeat(kStart));
  Pipeline other;
  other.add_note(tests::flight_of(1), "join ", kStart);
  send(other);
  CHECK_FALSE(other.may_repeat(kStart));
}

TEST_CASE("a request that was put aside is still open, and ends with its time") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  add(pipeline, Op::mark, 1, "mark ").deadline = kStart + 9s;
  send(pipeline);
  refuse(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK_FALSE(pipeline.all_reported());
  CHECK(pipeline.deadline() == kStart + 1s);
  pipeline.expire(kStart + 1s, 1s);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK_FALSE(pipeline.has_refused());
  CHECK(pipeline.all_reported());
}

TEST_CASE("a repair is not repeated if its release was sent while its second reply was awaited") {
  Pipeline pipeline;
  pipeline.add(ask(Op::repair, 1), tests::flight_of(2), "repair+wait ", kStart).deadline =
      kStart + 1s;
  send(pipeline);
  refuse(pipeline);
  add(pipeline, Op::leave, 1, "leave ");
  send(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 1);
  reply(pipeline);
  pipeline.repeat_refused();
  CHECK(send(pipeline).empty());
}

TEST_CASE("a mark is not repeated after its unmark, nor is a subscription ever") {
  Pipeline pipeline;
  add(pipeline, Op::mark, 1, "mark ");
  add(pipeline, Op::unmark, 1, "unmark ");
  send(pipeline);
  CHECK_FALSE(pipeline.may_repeat(kStart));
  Pipeline other;
  other.add({}, {.endless = true}, "SSUBSCRIBE SUBSCRIBE ", kStart).deadline = kStart + 1s;
  send(other);
  CHECK_FALSE(other.may_repeat(kStart));
}

TEST_CASE("a request that is half sent is sent to its end although another one was refused") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  send(pipeline);
  Pipeline::Pending& half = add(pipeline, Op::mark, 1, "mark ");
  REQUIRE(pipeline.next_to_send() == &half);
  pipeline.sent(half, 2, kStart);
  refuse(pipeline);
  CHECK(send(pipeline) == "rk ");
  add(pipeline, Op::leave, 1, "leave ");
  CHECK(send(pipeline).empty());
}

TEST_CASE("a token that was released is not asked for again where a redirection leads") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, "acquire ");
  send(pipeline);
  add(pipeline, Op::release, 1, "release ");
  send(pipeline);
  redirect(pipeline);
  // The node hangs before it refuses the release, too.
  pipeline.expire(kStart + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 2);
  pipeline.restore_refused();
  CHECK(send(pipeline).empty());
}

TEST_CASE("after a redirection, a request that times out is given up and a release is not") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  add(pipeline, Op::release, 1, "release ");
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  pipeline.expire(kStart + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 3);
  redirect(pipeline);
  redirect(pipeline);
  CHECK(pipeline.drained());
  pipeline.restore_refused();
  CHECK(send(pipeline) == "release ");
}

TEST_CASE("at another node, nobody waits for a request that timed out at the one before") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, "acquire ").deadline = kStart + 10s;
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  pipeline.expire(kStart + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 1);
  redirect(pipeline);
  CHECK(pipeline.drained());
  pipeline.restore_refused();
  CHECK(send(pipeline) == "acquire ");
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK(pipeline.empty());
}

TEST_CASE(
    "if the connection ends after a redirection, the server has not carried the request out") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  add(pipeline, Op::release, 1);
  send(pipeline);
  redirect(pipeline);
  pipeline.fail({.maybe_applied = true, .permanent = false, .why = "gone"});
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 2);
  CHECK_FALSE(std::get<lock::Unreachable>(arrivals[0].content).maybe_applied);
  CHECK(std::get<lock::Unreachable>(arrivals[1].content).maybe_applied);
  CHECK(pipeline.empty());
}

TEST_CASE("an acquire or a repair without an answer may come late once its connection has ended") {
  for (const Op op : {Op::acquire, Op::repair}) {
    Pipeline pipeline;
    add(pipeline, op, 1);
    send(pipeline);
    pipeline.expire(kStart + 2s, 1s);
    CHECK_FALSE(pipeline.may_come_late(1));  // the release comes after it
    pipeline.clear();
    CHECK(pipeline.may_come_late(1));
    pipeline.forget_attempt(1);
    CHECK_FALSE(pipeline.may_come_late(1));
  }
  for (const Op op : {Op::renew, Op::commit, Op::leave}) {
    Pipeline pipeline;
    add(pipeline, op, 1);
    send(pipeline);
    pipeline.fail({});
    CHECK_FALSE(pipeline.may_come_late(1));
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
  add(pipeline, Op::commit, 1, std::string(1000, 'c'));  // waits: 8 KiB are unanswered
  lock::Ask queued = ask(Op::acquire, 3);
  queued.operation = lock::op::Acquire{.ticket = 7};
  pipeline.add(queued, tests::flight_of(1), "acquire3 ", kStart).deadline = kStart + 1s;
  add(pipeline, Op::leave_queue, lock::kNoAttempt, "leave_queue ").deadline = kStart + 9s;
  CHECK(send(pipeline).empty());
  SUBCASE("it is released") {
    pipeline.cancel_unsent(3);
  }
  SUBCASE("it is late") {
    pipeline.expire(kStart + 1s, 200ms);
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
    lock::Ask queued = ask(Op::acquire, 3);
    queued.operation = lock::op::Acquire{.ticket = 7};
    pipeline.add(queued, tests::flight_of(1), "acquire3 ", kStart).deadline = kStart + 1s;
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

TEST_CASE("a note counts as answered, and a waiting one can be cancelled") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, std::string(8000, 'a'));
  send(pipeline);
  pipeline.add_note(tests::flight_of(1), std::string(1000, 'n'), kStart);
  CHECK(pipeline.size() == 2);
  pipeline.cancel_notes();
  CHECK(pipeline.size() == 1);
}

TEST_CASE("the reply to a note is no arrival") {
  Pipeline pipeline;
  pipeline.add_note(tests::flight_of(1), "note", kStart);
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
  pipeline.expire(kStart + 999ms, 1s);
  CHECK(pipeline.take_arrivals().empty());
  pipeline.expire(kStart + 1s, 1s);
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
  pipeline.expire(kStart + 1s, 1s);
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

TEST_CASE("what the server may hold is known, also after the connection ended") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  add(pipeline, Op::acquire, 2);
  send(pipeline);
  pipeline.cancel_unsent(2);
  CHECK(pipeline.size() == 1);
  pipeline.fail({.maybe_applied = true, .why = "gone"});
  CHECK(pipeline.empty());
  REQUIRE(pipeline.take_arrivals().size() == 1);
  CHECK(pipeline.sent_attempts().size() == 1);
  CHECK(pipeline.sent_attempts().contains(1));
}

TEST_CASE("when the connection ends, only requests that were sent may have been carried out") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1);
  send(pipeline);
  add(pipeline, Op::acquire, 2);
  pipeline.fail({.maybe_applied = true, .permanent = false, .why = "gone"});
  const auto arrivals = pipeline.take_arrivals();
  REQUIRE(arrivals.size() == 2);
  CHECK(std::get<lock::Unreachable>(arrivals[0].content).maybe_applied);
  CHECK_FALSE(std::get<lock::Unreachable>(arrivals[1].content).maybe_applied);
}

TEST_CASE("a request of which the kernel took nothing is not at the server") {
  Pipeline pipeline;
  Pipeline::Pending& added = add(pipeline, Op::acquire, 1);
  REQUIRE(pipeline.next_to_send() == &added);
  pipeline.sent(added, 0, kStart);
  CHECK(pipeline.sent_attempts().empty());
}

TEST_CASE("of two commands the first one is answered while the second one is still being sent") {
  Pipeline pipeline;
  Pipeline::Pending& release =
      pipeline.add(ask(Op::release, 1), tests::flight_of(2), "release and log", kStart);
  CHECK_FALSE(reply(pipeline));
  pipeline.sent(release, 8, kStart);
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
  pipeline.add({}, {.endless = true}, "SUBSCRIBE", kStart);
  CHECK_FALSE(reply(pipeline));
  send(pipeline);
  for (int i = 0; i < 16; ++i) CHECK(reply(pipeline));
  CHECK_FALSE(reply(pipeline));
  CHECK(pipeline.take_arrivals().size() == 16);
  CHECK(reply(pipeline));
}
