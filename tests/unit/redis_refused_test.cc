// SPDX-License-Identifier: MIT
//
// What becomes of the requests that a node has refused.
#include "doctest.h"

#include "pipeline.h"

using namespace redlock;
using namespace std::chrono_literals;
using namespace tests;
using lock::Op;

namespace {

void redirect(Pipeline& pipeline) {
  reply(pipeline, "MOVED 12 10.0.0.5:7001", Pipeline::Refusal::redirected);
}

void refuse(Pipeline& pipeline) {
  reply(pipeline, "TRYAGAIN Multiple keys request during rehashing of slot",
        Pipeline::Refusal::for_the_moment);
}

}  // namespace

TEST_CASE("requests that a node has refused with a redirection are sent again, in their order") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew+hold ", 2);
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
  CHECK(pipeline.deadline() == kAsked + 1s);  // of the request that was never sent
  CHECK(send(pipeline) == "renew+hold release mark ");
  CHECK(pipeline.sent_attempts().contains(1));
  reply(pipeline);
  REQUIRE(pipeline.take_arrivals().size() == 1);
}

TEST_CASE("what a node refuses for the moment is sent again over the connection, in order") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew+hold ", 2);
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  CHECK(pipeline.may_repeat(kAsked + 999ms));
  CHECK_FALSE(pipeline.may_repeat(kAsked + 1s));
  refuse(pipeline);
  CHECK_FALSE(pipeline.may_repeat(kAsked));  // the next reply is that to the second command
  reply(pipeline);
  add(pipeline, Op::leave, 1, "leave ").deadline = kAsked + 9s;
  CHECK(pipeline.has_refused());
  CHECK_FALSE(pipeline.can_send());
  CHECK_FALSE(pipeline.drained());
  reply(pipeline);
  CHECK(pipeline.drained());
  CHECK(pipeline.take_arrivals().size() == 1);
  pipeline.repeat_refused();
  CHECK(send(pipeline) == "renew+hold leave ");
  CHECK(pipeline.deadline() == kAsked + 1s);  // of its first attempt
  reply(pipeline);
  reply(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 2);
  CHECK(pipeline.empty());
}

TEST_CASE("what a node has refused is not sent again once it is cancelled") {
  for (const bool cancelled : {false, true}) {
    Pipeline pipeline;
    add(pipeline, Op::acquire, 1, "acquire ");
    send(pipeline);
    refuse(pipeline);
    if (cancelled) pipeline.cancel_unsent(1);
    pipeline.repeat_refused();
    CHECK(send(pipeline) == (cancelled ? "" : "acquire "));
  }
}

TEST_CASE("a request is repeated five times, and then the refusal is its answer") {
  Pipeline pipeline;
  add(pipeline, Op::leave, 1, "leave ");
  for (int attempt = 0; attempt < 5; ++attempt) {
    CHECK(send(pipeline) == "leave ");
    REQUIRE(pipeline.may_repeat(kAsked));
    refuse(pipeline);
    CHECK(pipeline.take_arrivals().empty());
    pipeline.repeat_refused();
  }
  send(pipeline);
  CHECK_FALSE(pipeline.may_repeat(kAsked));
}

TEST_CASE("a request is not repeated after one that takes its effect back") {
  const auto repeats = [](Op request, Op later) {
    Pipeline pipeline;
    add(pipeline, request, 1, "request ");
    send(pipeline);
    CHECK(pipeline.may_repeat(kAsked));
    add(pipeline, later, 1, "later ");
    return pipeline.may_repeat(kAsked);
  };
  for (const Op op : {Op::acquire, Op::repair, Op::renew}) {
    for (const Op end : {Op::release, Op::leave, Op::leave_queue}) CHECK_FALSE(repeats(op, end));
  }
  CHECK_FALSE(repeats(Op::mark, Op::unmark));
  CHECK(repeats(Op::leave, Op::leave_queue));
}

TEST_CASE("a note or a subscription is never repeated") {
  Pipeline noting;
  noting.add_note(flight_of(1), "join ", kAsked);
  send(noting);
  CHECK_FALSE(noting.may_repeat(kAsked));
  Pipeline subscribing;
  subscribing.add({}, {.endless = true}, "SUBSCRIBE ", kAsked).deadline = kAsked + 1s;
  send(subscribing);
  CHECK_FALSE(subscribing.may_repeat(kAsked));
}

TEST_CASE("a note that is cancelled is not sent, whether it waits or was refused") {
  for (const bool refused : {false, true}) {
    CAPTURE(refused);
    Pipeline pipeline;
    if (!refused) add(pipeline, Op::acquire, 1, std::string(8000, 'a'));
    send(pipeline);
    pipeline.add_note(flight_of(1), std::string(1000, 'n'), kAsked);
    if (refused) {
      send(pipeline);
      redirect(pipeline);
      CHECK(pipeline.has_refused());
    }
    pipeline.cancel_notes();
    CHECK_FALSE(pipeline.has_refused());
    CHECK(reply(pipeline) == !refused);
    pipeline.restore_refused();
    CHECK(send(pipeline).empty());
  }
}

TEST_CASE("a request that was put aside is still open, and ends with its time") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  add(pipeline, Op::mark, 1, "mark ").deadline = kAsked + 9s;
  send(pipeline);
  refuse(pipeline);
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK_FALSE(pipeline.all_reported());
  CHECK(pipeline.deadline() == kAsked + 1s);
  pipeline.expire(kAsked + 1s, 1s);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK_FALSE(pipeline.has_refused());
  CHECK(pipeline.all_reported());
}

TEST_CASE("a repair is not repeated if its release was sent while its second reply was awaited") {
  Pipeline pipeline;
  add(pipeline, Op::repair, 1, "repair+wait ", 2);
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

TEST_CASE("a request that is half sent is sent to its end although another one was refused") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  send(pipeline);
  Pipeline::Pending& half = add(pipeline, Op::mark, 1, "mark ");
  REQUIRE(pipeline.next_to_send() == &half);
  pipeline.sent(half, 2, kAsked);
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
  pipeline.expire(kAsked + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 2);
  pipeline.restore_refused();
  CHECK(send(pipeline).empty());
}

TEST_CASE("of an acquire that was released already, only a redirection says why there is no vote") {
  for (const bool redirected : {false, true}) {
    Pipeline pipeline;
    add(pipeline, Op::acquire, 1, "acquire ");
    add(pipeline, Op::release, 1, "release ");
    send(pipeline);
    CHECK(pipeline.is_withdrawn());
    redirected ? redirect(pipeline) : refuse(pipeline);
    const auto arrivals = pipeline.take_arrivals();
    REQUIRE(arrivals.size() == 1);
    CHECK(std::get<lock::Unreachable>(arrivals[0].content).why.empty() == !redirected);
  }
}

TEST_CASE("after a redirection, a request that times out is given up and a release is not") {
  Pipeline pipeline;
  add(pipeline, Op::renew, 1, "renew ");
  add(pipeline, Op::release, 1, "release ");
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  pipeline.expire(kAsked + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 3);
  redirect(pipeline);
  redirect(pipeline);
  CHECK(pipeline.drained());
  pipeline.restore_refused();
  CHECK(send(pipeline) == "release ");
}

TEST_CASE("at another node, nobody waits for a request that timed out at the one before") {
  Pipeline pipeline;
  add(pipeline, Op::acquire, 1, "acquire ").deadline = kAsked + 10s;
  add(pipeline, Op::mark, 1, "mark ");
  send(pipeline);
  pipeline.expire(kAsked + 2s, 1s);
  CHECK(pipeline.take_arrivals().size() == 1);
  redirect(pipeline);
  CHECK(pipeline.drained());
  pipeline.restore_refused();
  CHECK(send(pipeline) == "acquire ");
  reply(pipeline);
  CHECK(pipeline.take_arrivals().size() == 1);
  CHECK(pipeline.empty());
}

TEST_CASE("if the connection ends, what a node has refused is answered as not carried out") {
  for (void (*const refuses)(Pipeline&) : {redirect, refuse}) {
    for (const Op op : {Op::acquire, Op::renew}) {  // a release ends an acquire's wait
      Pipeline pipeline;
      add(pipeline, op, 1);
      add(pipeline, Op::release, 1);
      send(pipeline);
      refuses(pipeline);
      add(pipeline, Op::mark, 1);
      pipeline.fail({.maybe_applied = true, .permanent = false, .why = "gone"});
      const auto arrivals = pipeline.take_arrivals();
      REQUIRE(arrivals.size() == 3);
      for (const auto& each : arrivals) {
        const bool maybe_applied = std::get<lock::Unreachable>(each.content).maybe_applied;
        CHECK(maybe_applied == (each.ask.op() == Op::release));
      }
      CHECK(pipeline.empty());
    }
  }
}
