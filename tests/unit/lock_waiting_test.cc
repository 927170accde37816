// SPDX-License-Identifier: MIT
//
// A session that waits for its lock: which servers it asks, when, and when it gives up.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

TEST_CASE("waiting: the holder is named again when it is revoked, or has passed on for a while") {
  using When = report::Contended::When;
  using Notice = std::pair<std::optional<When>, std::string>;
  const Notice nothing;
  Harness harness(plan_for(3));
  const auto round = [&](const std::string& first, const std::string& others) {
    harness.forget<Report>();
    harness.answers(Op::acquire, {held_by(first), held_by(others), held_by(others)});
    Notice notice;
    if (const auto* told = harness.reported<report::Contended>()) {
      notice = {told->when, told->refusal.value().blocker};
    }
    harness.pass_pause();
    return notice;
  };
  CHECK(round("a", "a") == Notice(When::begins, "a"));
  CHECK(round("a", "a") == nothing);
  CHECK(round("b", "b") == nothing);
  CHECK(round("revoked:b x", "b") == Notice(When::changes, "revoked:b x"));
  CHECK(round("b", "b") == nothing);
  CHECK(round("revoked:b x", "revoked:b x") == nothing);
  CHECK(round("c", "c") == Notice(When::changes, "c"));
  CHECK(round("d", "d") == nothing);
  harness.now += 10s;
  CHECK(round("d", "d") == Notice(When::changes, "d"));
  CHECK(round("cooling:d", "d") == nothing);
}

TEST_CASE("--max-waiting: gives up if a quorum says that this many wait before us") {
  // `first`, `second`: how many wait, by the servers whose answers decide the round
  const auto crowd = [](std::size_t first, std::size_t second, std::size_t most) {
    Plan plan = plan_for(3);
    plan.patience.max_waiting = most;
    Harness harness(plan,
                    {in_line(held_by("a"), 100, 0, first), in_line(held_by("a"), 100, 0, second)});
    const auto& told = harness.told<report::Contended>();
    CHECK((told.when == report::Contended::When::gives_up) == (told.crowd > 0));
    CHECK((harness.count<JoinQueue>() > 0) == (told.crowd == 0));
    return told.crowd;
  };
  CHECK(crowd(3, 3, 3) == 3);
  CHECK(crowd(9, 4, 3) == 4);
  CHECK(crowd(2, 2, 3) == 0);
  CHECK(crowd(9, 2, 3) == 0);  // one of them may have forgotten some
  CHECK(crowd(99, 99, 0) == 0);
  // Newcomers that come together learn of each other in the queue.
  Plan plan = plan_for(3);
  plan.patience.max_waiting = 3;
  for (const std::size_t place : {3U, 4U}) {
    Harness harness(plan);
    harness.answer_all(3, Op::acquire, in_line(held_by("a"), 100));
    harness.advance(5s);
    harness.answer_all(3, Op::acquire, in_line(held_by("a"), 100, place, 9));
    CHECK(harness.session.acquiring() == (place == 3));
    if (place == 4) continue;
    // Whoever has a place keeps it, also if a waiter that was stopped comes back before it.
    harness.advance(5s);
    harness.answer_all(3, Op::acquire, in_line(held_by("a"), 100, 5, 9));
    CHECK(harness.session.acquiring());
  }
}

TEST_CASE("-w bounds a server that never answers, and its acquire is taken back") {
  Harness harness(plan_for(1, 500ms));
  harness.advance(500ms);
  CHECK(harness.asked(Op::release) == 1);
  harness.advance(20ms);
  CHECK(harness.ended(Outcome::Kind::unavailable));
}

TEST_CASE("a server that could never work, and then answers, is hoped for again") {
  for (const bool answers : {false, true}) {
    CAPTURE(answers);
    Harness harness(plan_for(3));
    const Answer held = held_by("other", std::nullopt);
    const Answer never = no_answer(false, true);
    harness.answers(Op::acquire, {never, held, held});
    REQUIRE_FALSE(harness.session.finished());
    harness.next_round({answers ? held : never, never, no_answer(false)});
    CHECK(harness.session.finished() == !answers);
  }
}

TEST_CASE("a signal while waiting ends the session, and nothing is left") {
  SUBCASE("refused everywhere: when it has left the queue") {
    Harness harness(plan_for(1), {in_line(held_by("other"), 7)});
    harness.step(Signal{SIGINT, true});
    CHECK_FALSE(harness.session.finished());
    REQUIRE(harness.answer(0, Op::leave_queue, Released{}));
    CHECK(harness.ended(Outcome::Kind::interrupted, SIGINT));
  }
  SUBCASE("a server that answers nothing is not asked to confirm that the queue was left") {
    Harness harness(plan_for(3));
    const Refused refusal = in_line(held_by("other"), 7);
    harness.answers(Op::acquire, {refusal, refusal, no_answer()});
    harness.next_round({refusal, refusal, no_answer()});
    harness.answer(2, Op::release, Missing{});
    harness.step(Signal{SIGINT, true});
    harness.answers(Op::leave_queue, {Released{}, Released{}});
    while (harness.answer(2, Op::release, Missing{})) {
    }
    CHECK(harness.session.finished());
  }
  SUBCASE("not those that do not end a process") {
    Harness harness(plan_for(1));
    harness.step(Signal{SIGWINCH, false});
    CHECK_FALSE(harness.session.finished());
    CHECK(harness.asked(Op::release) == 0);
  }
}

namespace {

/// Lets time pass while the first `down` servers fail and the others refuse. Gives what was told of
/// missing servers, and when.
std::vector<std::pair<Duration, report::QuorumMissing>> missing(Harness& harness, std::size_t down,
                                                                Instant until) {
  std::vector<std::pair<Duration, report::QuorumMissing>> told;
  while (!harness.session.finished() && harness.now < until) {
    harness.answer_all(down, Op::acquire, no_answer(false));
    harness.answer_all(3, Op::acquire, held_by("other", std::nullopt));
    harness.now = std::max(harness.now, std::min(until, harness.session.deadline()));
    harness.step(Tick{});
    if (const auto* report = harness.reported<report::QuorumMissing>()) {
      told.emplace_back(harness.now - Harness::start, *report);
      harness.forget<Report>();
    }
  }
  return told;
}

}  // namespace

TEST_CASE("too few servers: told after one second, and once more after ten") {
  using When = report::QuorumMissing::When;
  Plan plan = plan_for(3);
  plan.patience.server_wait = 30s;
  Harness harness(plan);
  const auto told = missing(harness, 2, Harness::start + 29s);
  REQUIRE(told.size() == 2);
  CHECK(told[0].first == 1s);
  CHECK(told[0].second.when == When::soon);
  CHECK(told[0].second.answering == 1);
  CHECK(told[0].second.gives_up_in == 29s);
  REQUIRE(told[0].second.complaints.size() == 2);
  CHECK(told[0].second.complaints[0].server == 0);
  CHECK(told[1].first == 10s);
  CHECK(told[1].second.when == When::lasting);
}

TEST_CASE("too few servers: every outage is told but short ones, and one just before the end") {
  Plan plan = plan_for(3, 60s);
  plan.patience.server_wait = 20s;
  Harness harness(plan);
  // Pauses between two questions are 5 s at most.
  CHECK(missing(harness, 1, Harness::start + 10s).empty());
  CHECK(missing(harness, 2, Harness::start + 10900ms).empty());
  CHECK(missing(harness, 1, Harness::start + 20s).empty());
  CHECK(missing(harness, 3, Harness::start + 28s).size() == 1);
  CHECK(missing(harness, 0, Harness::start + 35s).empty());
  CHECK(missing(harness, 2, Harness::start + 43s).size() == 1);
  CHECK(missing(harness, 0, Harness::start + 58s).empty());
  CHECK_MESSAGE(missing(harness, 3, Harness::start + 61s).empty(), "the wait ends soon after it");
  REQUIRE(harness.session.finished());
}

TEST_CASE("too few servers: an outage after a lock that was won in vain is told, too") {
  Plan plan = plan_for(3);
  plan.patience.server_wait = 30s;
  Harness harness(plan);
  CHECK(missing(harness, 2, Harness::start + 2s).size() == 1);
  if (harness.asked(Op::acquire) == 0) harness.pass_pause();
  harness.answer_all(3, Op::acquire, Granted{});
  REQUIRE(harness.count<Spawn>() == 1);
  harness.step(JobTooLate{});
  CHECK(missing(harness, 2, Harness::start + 6s).size() == 1);
}

TEST_CASE("-n tolerates missing servers for two seconds, and tells nothing before that end") {
  Harness harness(plan_for(3, Duration::zero()));
  CHECK(missing(harness, 3, Harness::start + 3s).empty());
  CHECK(harness.ended(Outcome::Kind::unavailable));
  CHECK(harness.now >= Harness::start + 2s);
  CHECK(harness.now <= Harness::start + 2200ms);
}

TEST_CASE("what whoever waits is shown: the holder, contenders, or the servers that answer") {
  Harness harness(plan_for(3, 60s));
  CHECK(harness.session.acquiring());
  CHECK_FALSE(harness.session.waiting().asked);
  const auto round = [&](const std::vector<Answer>& answers) {
    harness.answers(Op::acquire, answers);
    const Waiting waiting = harness.session.waiting();
    harness.pass_pause();
    return waiting;
  };
  Waiting now = round({held_by("x"), held_by("x"), held_by("x")});
  CHECK(now.asked);
  CHECK_FALSE(now.lacks_quorum);
  REQUIRE(now.refusal.has_value());
  CHECK(now.refusal->blocker == "x");
  CHECK(now.refused_at == Harness::start);
  now = round({held_by("x"), held_by("y"), held_by("z")});
  CHECK_MESSAGE(!now.refusal.has_value(), "several contenders");
  now = round({in_line(held_by("y"), 7, 3, 5), held_by("y"), no_answer(false)});
  REQUIRE(now.refusal.has_value());
  CHECK(now.place == 3);
  CHECK(now.answering == 2);
  CHECK_FALSE(now.lacks_quorum);
  now = round({held_by("y"), no_answer(false), no_answer(false)});
  CHECK(now.place == 0);
  CHECK(now.lacks_quorum);
  CHECK(now.answering == 1);
  CHECK(now.servers == 3);
}

TEST_CASE("a lock that nobody announces as free is asked for just before the wait ends, and got") {
  for (const Duration limit : {Duration(600ms), Duration(10s), Duration(3min)}) {
    for (const std::size_t place : {0U, 1U, 2U, 7U, 900U}) {  // in the queue; 0: outside
      for (const bool expires : {false, true}) {
        INFO("limit ", limit.count(), ", place ", place, ", expires ", expires);
        Harness harness(plan_for(3, limit));
        const auto life = expires ? std::optional<std::chrono::milliseconds>(1h) : std::nullopt;
        const Refused refusal =
            in_line(held_by(std::string(40, 'a'), life), place == 0 ? 0 : 5, place, 1000);
        const Instant free_at = Harness::start + limit - 50ms;
        while (!harness.session.finished()) {
          const bool free = harness.now >= free_at;
          harness.answer_all(3, Op::acquire, free ? Answer(Granted{}) : Answer(refusal));
          harness.answer_all(3, Op::leave_queue, Released{});
          if (harness.reported<report::Acquired>() != nullptr) break;
          if (place > 0)
            harness.step(
                Subscribed{static_cast<ServerIndex>(harness.now.time_since_epoch().count() % 3)});
          harness.pass_pause();
        }
        CHECK(harness.reported<report::Acquired>() != nullptr);
      }
    }
  }
}

TEST_CASE("each outage has the whole time of --server-wait, also after one that has ended") {
  for (const Duration before : {Duration(2s), Duration(9s)}) {
    for (const Duration between : {Duration(1s), Duration(30s)}) {
      INFO("before ", before.count(), ", between ", between.count());
      Harness harness(plan_for(3));  // tolerates an outage for 10 s
      const Instant second = Harness::start + before + between;
      while (!harness.session.finished() && harness.now < second + 1min) {
        const bool up = harness.now >= Harness::start + before && harness.now < second;
        const Answer answer = up ? Answer(held_by("other", std::nullopt)) : no_answer(false);
        harness.answer_all(3, Op::acquire, answer);
        harness.answer_all(3, Op::leave_queue, Released{});
        harness.now =
            std::min(std::max(harness.now, harness.session.deadline()), harness.now + 500ms);
        harness.step(Tick{});
      }
      CHECK(harness.ended(Outcome::Kind::unavailable));
      // A pause between two questions may come before the first one of the outage.
      CHECK(harness.now >= second + 10s - 1ms);
      CHECK(harness.now <= second + 16s);
    }
  }
}

TEST_CASE("giving up tells how long was waited, which is nothing for -n") {
  for (const Duration limit : {Duration(0s), Duration(700ms)}) {
    Harness harness(plan_for(1, limit));
    while (!harness.session.finished()) {
      harness.answer(0, Op::acquire, held_by("other", std::nullopt));
      harness.pass_pause();
    }
    const Report last = harness.all<Report>().back();
    CHECK(std::get<report::Contended>(last).when == report::Contended::When::gives_up);
    CHECK(std::get<report::Contended>(last).waited == limit);
  }
}

TEST_CASE("giving up after a split names nobody") {
  Harness harness(plan_for(3, 700ms));
  for (int number = 0; !harness.session.finished(); ++number) {
    const std::string contender = std::to_string(number);
    harness.answers(Op::acquire,
                    {held_by(contender + "a"), held_by(contender + "b"), held_by(contender + "c")});
    harness.pass_pause();
  }
  const auto& told = harness.told<report::Contended>();
  CHECK(told.when == report::Contended::When::gives_up);
  CHECK_FALSE(told.refusal.has_value());
}

TEST_CASE("a lock that ends at a fixed moment gets shorter while we wait for it") {
  Plan plan = plan_for(1);
  plan.timing = {.ttl = 1h, .grace = {}, .ends_at = Harness::start + 1h};
  Harness harness(plan);
  std::vector<std::pair<Instant, Duration>> lives;
  while (!harness.session.finished() && harness.now < Harness::start + 50min) {
    for (const Ask& ask : harness.asks(Op::acquire)) lives.emplace_back(harness.now, life_of(ask));
    harness.answer(0, Op::acquire, held_by("other", 10min));
    harness.pass_pause();
  }
  REQUIRE(lives.size() > 2);
  for (const auto& [asked, life] : lives) CHECK(asked + life == Harness::start + 1h);
  // It wins what is left, although that is less than a third of the whole.
  REQUIRE(harness.answer(0, Op::acquire, Granted{}));
  const auto& won = harness.told<report::Acquired>();
  CHECK(won.valid_for < 10min);
  CHECK(won.valid_for > 9min);
}
