// SPDX-License-Identifier: MIT
//
// Our place in the queue of waiters: the ticket, when a waiter joins, and when it leaves.
#include "lock/waiter.h"
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Refused queued(Ticket ticket, std::size_t place = 0, std::size_t waiters = 0) {
  return in_line(held_by("other", std::nullopt), ticket, place, waiters);
}

/// What follows from a round with these answers.
Effects after_round(Waiter& waiter, const std::vector<Answer>& answers,
                    bool quorum_answered = true) {
  Effects effects;
  waiter.round_ended(attempt_with(answers), quorum_answered, effects);
  return effects;
}

/// The ticket of JoinQueue, if that is all that follows.
std::optional<Ticket> joined_with(const Effects& effects) {
  if (effects.size() != 1) return std::nullopt;
  const auto* join = std::get_if<JoinQueue>(&effects.front());
  return join == nullptr ? std::nullopt : std::optional(join->ticket);
}

using Servers = std::vector<ServerIndex>;

/// The servers that have been asked for the lock, and have not answered yet.
Servers servers_asked(const Harness& harness) {
  Servers servers;
  for (const Ask& ask : harness.asks(Op::acquire)) servers.push_back(ask.server);
  std::ranges::sort(servers);
  return servers;
}

bool leaves_everywhere(const Effects& effects) {
  ServerIndex server = 0;
  for (const Effect& effect : effects) {
    const auto* ask = std::get_if<Ask>(&effect);
    const Ask leave{.server = server++, .attempt = kNoAttempt, .operation = op::LeaveQueue{}};
    if (ask == nullptr || *ask != leave) return false;
  }
  return server == 3;
}

}  // namespace

TEST_CASE("waiter: the ticket is the largest of the first round, and later ones only subscribe") {
  Waiter waiter(3);
  CHECK(waiter.ticket() == 0);
  CHECK(joined_with(after_round(waiter, {queued(5), queued(9), queued(7)})) == 9);
  CHECK(joined_with(after_round(waiter, {queued(50), queued(90), queued(70)})) == 0);
  CHECK(joined_with(after_round(waiter, {queued(1), queued(1), queued(1)})) == 0);
  CHECK_MESSAGE(joined_with(after_round(waiter, {Granted{}, Granted{}, no_answer()})) == 0,
                "granted, but by servers that restarted recently");
  CHECK(waiter.ticket() == 9);

  Waiter one_is_away(3);
  CHECK(joined_with(after_round(one_is_away, {queued(5), no_answer(), queued(4)})) == 5);
}

TEST_CASE("waiter: any quorum of refusals joins, and nothing less") {
  Waiter split(3);
  CHECK(joined_with(after_round(split, {Granted{}, queued(5), queued(6)})) == 6);
  Waiter turns(3);
  CHECK(joined_with(after_round(turns, {in_line(turn_of("w"), 5), queued(6), no_answer()})) == 6);
  Waiter nearly(3);
  CHECK(after_round(nearly, {Granted{}, Granted{}, queued(6)}).empty());
  CHECK(after_round(nearly, {Granted{}, no_answer(), queued(6)}).empty());
  CHECK(nearly.ticket() == 0);
}

TEST_CASE("waiter: the first two say so") {
  for (const std::size_t place : {0U, 1U, 2U, 3U}) {
    Waiter waiter(1);
    const Effects effects = after_round(waiter, {queued(5, place, 4)});
    REQUIRE(effects.size() == 1);
    CHECK(std::get<JoinQueue>(effects[0]).early == (place == 1 || place == 2));
  }
}

TEST_CASE("waiter: servers that tell no ticket have no line") {
  Waiter waiter(3);
  CHECK(after_round(waiter, {queued(0), queued(0), queued(0)}).empty());
  CHECK(waiter.ticket() == 0);
  CHECK(joined_with(after_round(waiter, {queued(0), queued(0), queued(4)})) == 4);
}

TEST_CASE("waiter: leaving is asked once, of every server, until each has answered") {
  Waiter waiter(3);
  Effects effects;
  waiter.leave(effects);
  CHECK_MESSAGE(effects.empty(), "it is in no line");
  after_round(waiter, {queued(5), queued(9), queued(7)});
  waiter.leave(effects);
  CHECK(leaves_everywhere(effects));
  CHECK(waiter.is_leaving(2));
  waiter.record_left({std::get<Ask>(effects[2]), Harness::start, no_answer()});
  CHECK_FALSE(waiter.is_leaving(2));
  CHECK(waiter.is_leaving(0));
  effects.clear();
  waiter.leave(effects);
  CHECK(effects.empty());
}

TEST_CASE("waiter: the place that is shown is the worst one, the place that hurries the best") {
  Waiter waiter(3);
  after_round(waiter, {queued(5), queued(9), queued(7)});
  CHECK(waiter.place() == 0);
  CHECK_FALSE(waiter.is_early());
  CHECK_FALSE(waiter.is_far_back());
  after_round(waiter, {queued(9, 2, 4), queued(9, 5, 7), no_answer()});
  CHECK(waiter.place() == 5);
  CHECK(waiter.length() == 7);
  CHECK(waiter.is_early());
  CHECK_FALSE(waiter.is_far_back());
  after_round(waiter, {queued(9, 3, 4), queued(9, 5, 7), queued(9, 0, 0)});
  CHECK_FALSE(waiter.is_early());
  CHECK(waiter.is_far_back());
  after_round(waiter, {queued(9, 3, 2), queued(9, 1, 1), no_answer()});
  CHECK_MESSAGE(waiter.length() == 3, "never shorter than the place");
}

TEST_CASE("waiter: it is called when a quorum can wake it and some server has it in the queue") {
  Waiter waiter(3);
  after_round(waiter, {queued(5), queued(9), queued(7)});
  CHECK_FALSE(waiter.hear(0));
  CHECK_FALSE_MESSAGE(waiter.hear(0), "the same server counts once");
  after_round(waiter, {queued(9, 3, 4), queued(9, 3, 4), queued(9, 3, 4)});
  CHECK_FALSE(waiter.is_called());
  CHECK_MESSAGE(waiter.hear(2), "now it is a quorum");
  CHECK(waiter.is_called());
  CHECK_FALSE_MESSAGE(waiter.hear(1), "it was one before");
  after_round(waiter, {queued(9), queued(9), queued(9)});
  CHECK_FALSE_MESSAGE(waiter.is_called(), "no server has put it into its queue");
  after_round(waiter, {queued(9, 3, 4), queued(9), queued(9)});
  CHECK(waiter.is_called());
  after_round(waiter, {queued(9, 3, 4), no_answer(), no_answer()}, false);
  after_round(waiter, {queued(9, 3, 4), queued(9, 3, 4), queued(9, 3, 4)});
  CHECK_FALSE_MESSAGE(waiter.is_called(), "leaving ended the subscriptions");
}

TEST_CASE("queue: a waiter that no quorum can serve leaves, and takes no vote until that changes") {
  Harness harness(plan_for(3));
  const auto round = [&harness](const Answer& second) {
    harness.answers(Op::acquire, {no_answer(false), second, in_line(held_by("left over", 8h), 7)});
  };
  round(in_line(held_by("holder"), 7));
  CHECK_MESSAGE(harness.count<JoinQueue>() == 1, "one round may be an accident");
  harness.pass_pause();
  CHECK(servers_asked(harness) == Servers({0, 1, 2}));
  round(in_line(held_by("holder"), 7));
  CHECK(harness.asked(Op::leave_queue) == 3);
  CHECK(harness.session.waiting().obstructed);
  CHECK(harness.session.waiting().answering == 1);
  for (int probe = 0; probe < 5; ++probe) {
    harness.advance(1s);
    CHECK(servers_asked(harness) == Servers({0, 2}));
    harness.answer(0, Op::acquire, no_answer(false));
    harness.answer(2, Op::acquire, in_line(held_by("left over", 8h), 8));
  }
  CHECK(harness.told<report::QuorumMissing>().complaints.size() == 2);
  CHECK(harness.told<report::QuorumMissing>().answering == 1);
  harness.advance(1s);
  SUBCASE("the silent server is back") {
    harness.answer(0, Op::acquire, in_line(held_by("holder"), 9));
    CHECK(servers_asked(harness) == Servers({1, 2}));
  }
  SUBCASE("the key that was left over has gone: its server's vote is kept") {
    harness.answer(2, Op::acquire, Granted{});
    CHECK(servers_asked(harness) == Servers({0, 1}));
    harness.answer(1, Op::acquire, Granted{});
    CHECK(harness.count<Spawn>() == 1);
  }
  bool obstructed = false;
  SUBCASE("the silent server is back with such a key, which is in the way in the next round, too") {
    harness.answer(0, Op::acquire, in_line(held_by("left over, too", 8h), 9));
    harness.answer(2, Op::acquire, in_line(held_by("left over", 8h), 8));
    harness.answer(1, Op::acquire, in_line(held_by("holder"), 7));
    harness.pass_pause();
    round(in_line(held_by("holder"), 7));
    obstructed = true;
  }
  CHECK(harness.session.waiting().obstructed == obstructed);
}

TEST_CASE("queue: before obstacles, the word of one server that the run is done counts, too") {
  Harness harness(plan_for(3));
  harness.answer_all(3, Op::acquire, no_answer(false));
  CHECK_FALSE_MESSAGE(harness.session.waiting().obstructed, "too few servers answer");
  harness.next_round({no_answer(false), Done{}, no_answer(false)});
  CHECK(harness.reported<report::Skipped>() != nullptr);
}

TEST_CASE("queue: who can win when the holder has released stays in the queue") {
  const Refused holder = in_line(held_by("holder"), 7);
  const Refused readers = in_line(held_by("shared:one"), 7);
  const Refused other_readers = in_line(held_by("revoked:shared:two"), 7);
  const std::vector<std::vector<Answer>> rounds{
      {holder, holder, in_line(held_by("left over", 8h), 7)},
      {holder, holder, no_answer(false)},
      {readers, other_readers, no_answer(false)},
      {Granted{}, holder, holder},
      // The holder may have a list with one server less: then fewer than a quorum refuse.
      {Granted{}, holder},
      {Granted{}, no_answer(false), holder, holder},
  };
  for (const std::vector<Answer>& answers : rounds) {
    CAPTURE(&answers - rounds.data());
    Harness harness(plan_for(answers.size()));
    for (int round = 0; round < 4; ++round) {
      harness.answers(Op::acquire, answers);
      harness.pass_pause();
      CHECK_FALSE(harness.session.waiting().obstructed);
    }
    CHECK(harness.count<JoinQueue>() >= 1);
    CHECK(harness.asked(Op::leave_queue) == 0);
  }
}

TEST_CASE("queue: a slot that somebody has is no obstacle: another one may be free there") {
  Plan plan = plan_for(3);
  plan.slots = 2;
  Harness harness(plan);
  Refused taken = in_line(held_by("p0102" + std::string(35, 'a')), 7);
  taken.slots = "aaaa,bbbb";
  for (int round = 0; round < 6; ++round) {
    harness.answers(Op::acquire, {taken, Granted{}, no_answer(false)});
    harness.advance(2s);
    CHECK_FALSE(harness.session.waiting().obstructed);
  }
}

TEST_CASE("queue: before obstacles, all servers are asked now and then: they may have changed") {
  Harness harness(plan_for(3));
  const auto answers = [&harness](const Answer& second) {
    harness.answers(Op::acquire, {no_answer(false), second, in_line(held_by("holder"), 7)});
    harness.advance(1s);
  };
  for (int round = 0; round < 3; ++round) answers(Granted{});
  REQUIRE(harness.session.waiting().obstructed);
  // The holder has got the second server back, too.
  for (int round = 0; round < 10; ++round) answers(in_line(held_by("holder"), 7));
  CHECK_FALSE(harness.session.waiting().obstructed);
  CHECK(harness.count<JoinQueue>() >= 1);
}

TEST_CASE("queue: contenders that change from round to round are no obstacle") {
  Harness harness(plan_for(5));
  for (int round = 0; round < 4; ++round) {
    harness.answer(0, Op::acquire, Granted{});
    for (ServerIndex server = 1; server < 5; ++server) {
      const std::string contender = std::to_string(server) + "." + std::to_string(round);
      harness.answer(server, Op::acquire, in_line(held_by(contender), 7));
    }
    harness.pass_pause();
  }
  CHECK(harness.asked(Op::leave_queue) == 0);
}

TEST_CASE("queue: a waiter that does not trust the servers leaves: others may trust them") {
  Harness harness = waiting_for(queued(7));
  harness.effects.clear();
  for (int round = 0; round < 2; ++round) {
    harness.pass_pause();
    CHECK(harness.asked(Op::leave_queue) == 0);
    harness.answer_all(3, Op::acquire, Granted{.run_id = {}, .distrusted_for = 30s});
    CHECK(harness.count<Spawn>() == 0);
  }
  CHECK(harness.asked(Op::leave_queue) == 3);
}

TEST_CASE("queue: at the limit, a wait before obstacles says which they are") {
  Harness harness(plan_for(3, 1s));
  for (int round = 0; round < 20; ++round) {
    harness.answers(Op::acquire,
                    {no_answer(false), queued(7), in_line(held_by("left over", 8h), 7)});
    harness.pass_pause();
  }
  CHECK(harness.ended(Outcome::Kind::conflict));
  const Report last = harness.all<Report>().back();
  const auto& contended = std::get<report::Contended>(last);
  CHECK(contended.when == report::Contended::When::gives_up);
  CHECK(contended.obstacles.size() == 2);
}

TEST_CASE("queue: left with the lock once the job has started, or cannot, but not if it is late") {
  for (const Event& event :
       {Event(JobStarted{}), Event(JobFailedToStart{127}), Event(JobTooLate{})}) {
    CAPTURE(event.index());
    const bool late = std::holds_alternative<JobTooLate>(event);
    Harness harness = waiting_for(queued(7));
    harness.next_round_all(Granted{});
    REQUIRE(harness.count<Spawn>() == 1);
    CHECK_MESSAGE(harness.asked(Op::leave_queue) == 0, "the job shall not wait for that");
    harness.step(event);
    CHECK(harness.asked(Op::leave_queue) == (late ? 0 : 3));
    if (std::holds_alternative<JobStarted>(event)) harness.step(JobExited{0});
    CHECK(harness.asked(Op::leave_queue) == (late ? 0 : 3));
  }
}

TEST_CASE("queue: a wait in vain ends when the servers that answered know that it was left") {
  Harness harness(plan_for(3, 1s));
  for (int elapsed = 0; elapsed < 99; ++elapsed) {
    harness.answers(Op::acquire, {queued(7), queued(7), no_answer()});
    harness.advance(10ms);
  }
  harness.advance(10ms);
  REQUIRE(harness.asked(Op::leave_queue) == 3);
  harness.answer(0, Op::leave_queue, Released{});
  CHECK_FALSE(harness.session.finished());
  SUBCASE("the third one has answered nothing, and is not waited for") {
    harness.answer(1, Op::leave_queue, Released{});
  }
  SUBCASE("what cannot be had is an answer, too") {
    harness.answer(1, Op::leave_queue, no_answer());
  }
  SUBCASE("and the second one not for long") {
    harness.advance(199ms);
    CHECK_FALSE(harness.session.finished());
    harness.advance(1ms);
  }
  CHECK(harness.session.finished());
}
