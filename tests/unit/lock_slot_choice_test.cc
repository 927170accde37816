// SPDX-License-Identifier: MIT
//
// Which slot a waiter asks for next: after what the servers say of all slots.
#include <set>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;
using Next = SlotChoice::Next;

namespace {

Refused with_slots(const std::string& slots, bool turn = false) {
  Refused refused = turn ? turn_of("waiter") : held_by("p0103");
  refused.slots = slots;
  return refused;
}

/// The choice after these answers to an attempt for its present slot.
Next after(SlotChoice& choice, const std::vector<Answer>& answers) {
  return choice.choose(attempt_with(answers, choice.slot()));
}

}  // namespace

TEST_CASE("slots: the first one is any of them, and a lock without slots has none") {
  std::set<std::size_t> first;
  for (std::uint64_t seed = 0; seed < 30; ++seed) first.insert(SlotChoice(3, seed).slot());
  CHECK(first == std::set<std::size_t>{1, 2, 3});
  SlotChoice none(0, 7);
  CHECK(none.slot() == 0);
  CHECK(after(none, {held_by("x"), held_by("x"), held_by("x")}) == Next::as_judged);
  CHECK(none.slot() == 0);
}

TEST_CASE("slots: one that is free on a quorum is asked for immediately") {
  SlotChoice choice(3, 0);
  CHECK(after(choice, {with_slots("aa,,cc"), with_slots("aa,,cc"), with_slots("aa,bb,cc")}) ==
        Next::elsewhere);
  CHECK(choice.slot() == 2);
}

TEST_CASE("slots: if a quorum names the same holder of each, the lock is held") {
  SlotChoice choice(2, 0);
  CHECK(after(choice, {with_slots("aa,bb"), with_slots("aa,bb"), with_slots("aa,")}) ==
        Next::as_judged);
  CHECK(after(choice, {with_slots("aa,bb"), with_slots("aa,cc"), no_answer()}) == Next::split);
}

TEST_CASE("slots: while contenders take each other's votes, it asks for the slot with most votes") {
  SlotChoice choice(3, 0);  // slot 1
  CHECK(after(choice, {Granted{}, Granted{}, with_slots("aa,bb,"), with_slots("aa,bb,"),
                       with_slots("aa,bb,cc")}) == Next::split);
  CHECK_MESSAGE(choice.slot() == 3, "of equals, one that we have not just asked for");
  CHECK(after(choice, {with_slots(",bb,cc"), with_slots(",bb,cc"), with_slots("aa,,cc"),
                       with_slots("aa,bb,"), with_slots("ab,bb,")}) == Next::split);
  CHECK(choice.slot() == 1);
}

TEST_CASE("slots: others may be faster at each of them: then a pause follows") {
  SlotChoice choice(4, 0);
  const auto move = [&choice] {
    std::string slots = ",,,";
    slots.insert(choice.slot() - 1, "aa");
    return after(choice, {with_slots(slots)});
  };
  const auto moves = [&move] {
    unsigned count = 0;
    while (count < 100 && move() == Next::elsewhere) ++count;
    return count;
  };
  CHECK(moves() == 3);
  CHECK_MESSAGE(moves() == 3, "as often after each pause");
  CHECK(move() == Next::elsewhere);
  CHECK(after(choice, {with_slots("aa,bb,cc,dd")}) == Next::as_judged);
  CHECK_MESSAGE(moves() == 3, "and after a conflict");
}

TEST_CASE("slots: when it is another waiter's turn, no slot is asked for immediately") {
  SlotChoice choice(2, 0);
  CHECK(after(choice, {with_slots("aa,", true), with_slots("aa,", true),
                       with_slots("aa,", true)}) == Next::as_judged);
  CHECK_MESSAGE(choice.slot() == 2, "but the free one later");
  CHECK_MESSAGE(after(choice, {turn_of("w"), turn_of("w"), with_slots("aa,")}) == Next::split,
                "a turn that says nothing of the slots holds none");
}

TEST_CASE("slots: servers that hold the lock otherwise, or say odd things") {
  SlotChoice choice(2, 0);
  CHECK(after(choice, {held_by("x"), held_by("x"), held_by("x")}) == Next::as_judged);
  CHECK(choice.slot() == 1);
  CHECK_MESSAGE(after(choice, {held_by("x"), with_slots("aa,"), held_by("x")}) == Next::as_judged,
                "a holder that has no slot has the lock, and one server lacks it");
  CHECK(choice.slot() == 1);
  CHECK(after(choice, {with_slots(std::string(100'000, ','))}) == Next::elsewhere);
  CHECK(choice.slot() == 2);
  CHECK(after(choice, {with_slots("a")}) == Next::split);
  CHECK(choice.slot() == 2);
  CHECK(after(choice, {with_slots("a,a,a,a,a")}) == Next::as_judged);
}

TEST_CASE("slots: a server that granted our slot would give it to us again") {
  SlotChoice choice(2, 0);
  CHECK(after(choice, {Granted{}, Granted{}, with_slots("aa,"), with_slots("aa,bb"),
                       with_slots("aa,bb")}) == Next::split);
  CHECK_MESSAGE(choice.slot() == 1, "two votes for it, one for the other");
}

TEST_CASE("slots: a token is for one slot") {
  Plan plan = plan_for(1);
  plan.slots = 3;
  Harness harness(plan);
  const Ask first = harness.asks(Op::acquire).front();
  REQUIRE(details<op::Acquire>(first).slot >= 1);
  REQUIRE(details<op::Acquire>(first).slot <= 3);
  std::string slots = "aa,aa,aa";
  const std::size_t free = details<op::Acquire>(first).slot % 3 + 1;
  slots.erase(3 * (free - 1), 2);
  harness.answer(0, Op::acquire, with_slots(slots));
  harness.step(Tick{});
  REQUIRE(harness.asked(Op::acquire) == 1);
  const Ask second = harness.asks(Op::acquire).front();
  CHECK(details<op::Acquire>(second).slot == free);
  CHECK(second.attempt != first.attempt);
  harness.answer(0, Op::acquire, Granted{});
  CHECK(harness.count<Spawn>() == 1);
}

TEST_CASE("slots: holders of different kinds that share the votes are no conflict") {
  const auto verdict = [](const std::string& a, const std::string& b, const std::string& c) {
    return attempt_with({held_by(a), held_by(b), held_by(c)})
        .verdict(Harness::start, kAttemptTiming);
  };
  CHECK(verdict("shared:saa", "shared:sbb", "shared:p0103cc") == Verdict::conflict);
  CHECK(verdict("shared:p0103aa", "shared:p0203bb", "shared:saa") == Verdict::conflict);
  CHECK(verdict("shared:p0103aa", "shared:p0104bb", "shared:saa") == Verdict::split);
}
