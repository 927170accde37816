// SPDX-License-Identifier: MIT
//
// Renewing and releasing by token alone.
#include <doctest/doctest.h>

#include "lock/by_token.h"
#include "lock_harness.h"

namespace redlock::lock {
namespace {

using namespace testing;

constexpr AttemptId kTheirs = 1;

/// An by_token with a clock in the test's hand.
class Bench {
 public:
  explicit Bench(Op op, std::size_t servers = 3)
      : by_token(servers, kTheirs,
                 {.op = op, .timing = {.ttl = 30s, .grace = 0s}, .patience = 10s, .linger = 200ms},
                 now) {
    tick();
  }

  void tick(Duration later = 0s) {
    now += later;
    take(by_token.step(Tick{}, now));
  }

  void take(const Effects& more) { effects.insert(effects.end(), more.begin(), more.end()); }

  /// Answers what was asked of the server last. False if nothing was.
  bool answer(ServerIndex server, const Answer& answer, Duration age = 0ms) {
    for (std::size_t at = effects.size(); at-- > 0;) {
      const Ask ask = std::get<Ask>(effects[at]);
      if (ask.server != server) continue;
      effects.erase(effects.begin() + static_cast<std::ptrdiff_t>(at));
      take(by_token.step(Reply{ask, now - age, answer}, now));
      return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t asked(Op op) const {
    return static_cast<std::size_t>(
        std::count_if(effects.begin(), effects.end(),
                      [op](const Effect& e) { return std::get<Ask>(e).op() == op; }));
  }

  [[nodiscard]] bool is(ByToken::State state) const { return by_token.state() == state; }

  Instant now = Instant(1000s);
  ByToken by_token;
  Effects effects;
};

TEST_CASE("by_token: a server that said no is asked no more, and to release, none that said yes") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    const Answer yes = op == Op::renew ? Answer(Renewed{}) : Answer(Released{});
    REQUIRE(bench.answer(0, no_answer()));
    REQUIRE(bench.answer(1, Missing{}));
    REQUIRE(bench.answer(2, yes));
    bench.tick(100ms);
    std::vector<ServerIndex> asked;
    for (const Effect& effect : bench.effects) asked.push_back(std::get<Ask>(effect).server);
    CHECK(asked ==
          (op == Op::renew ? std::vector<ServerIndex>{0, 2} : std::vector<ServerIndex>{0}));
  }
}

TEST_CASE("by_token: all servers are asked at the same time, for a full ttl, or to delete") {
  const Bench renewal(Op::renew);
  REQUIRE(renewal.asked(Op::renew) == 3);
  CHECK(life_of(std::get<Ask>(renewal.effects[0])) == 30s);
  CHECK(std::get<Ask>(renewal.effects[0]).attempt == kTheirs);
  const Bench release(Op::leave);
  REQUIRE(release.asked(Op::leave) == 3);
  CHECK(life_of(std::get<Ask>(release.effects[0])) == 0s);
}

TEST_CASE("by_token: a quorum is enough, and the rest has a moment") {
  for (const Op op : {Op::renew, Op::leave}) {
    const Answer yes = op == Op::renew ? Answer(Renewed{}) : Answer(Released{});
    for (const Answer& last : {yes, Answer(no_answer()), Answer(NotMine{"theirs"})}) {
      Bench bench(op);
      bench.answer(0, yes);
      CHECK(bench.is(ByToken::State::trying));
      bench.answer(2, yes);
      CHECK(bench.is(ByToken::State::done));
      CHECK_FALSE(bench.by_token.finished());
      CHECK(bench.by_token.deadline() == bench.now + 200ms);
      bench.tick(199ms);
      CHECK_FALSE(bench.by_token.finished());
      Bench silent = bench;
      silent.tick(1ms);
      CHECK(silent.by_token.finished());
      bench.answer(1, last);
      CHECK(bench.by_token.finished());
      CHECK(bench.is(ByToken::State::done));
      CHECK(bench.by_token.complaints().size() ==
            (std::holds_alternative<Unreachable>(last) || std::holds_alternative<NotMine>(last)
                 ? 1
                 : 0));
    }
  }
}

TEST_CASE("by_token: a renewal lasts from when it was sent, less the drift") {
  Bench bench(Op::renew);
  bench.answer(0, Renewed{}, 3s);
  bench.answer(1, Renewed{}, 1s);
  CHECK(bench.by_token.valid_until() == bench.now - 3s + 30s - 302ms);
  bench.answer(2, Renewed{});
  CHECK(bench.by_token.valid_until() == bench.now - 1s + 30s - 302ms);
}

TEST_CASE("by_token: one server is one quorum") {
  Bench bench(Op::renew, 1);
  bench.answer(0, Renewed{});
  CHECK(bench.by_token.finished());
  CHECK(bench.is(ByToken::State::done));
}

TEST_CASE("by_token: missing or not mine on so many that no quorum can be left") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    bench.answer(0, Missing{});
    CHECK(bench.is(ByToken::State::trying));
    bench.answer(1, NotMine{"theirs"});
    CHECK(bench.is(ByToken::State::not_ours));
    CHECK(bench.by_token.complaints().size() == 3);
    bench.answer(2, op == Op::renew ? Answer(Renewed{}) : Answer(Released{}));
    CHECK(bench.by_token.finished());
    CHECK(bench.is(ByToken::State::not_ours));
    CHECK(bench.asked(Op::repair) == 0);
  }
}

TEST_CASE("by_token: two of two who differ is lost") {
  Bench bench(Op::renew, 2);
  bench.answer(0, Renewed{});
  bench.answer(1, Missing{});
  CHECK(bench.is(ByToken::State::not_ours));
}

TEST_CASE("by_token: an answer to what was asked before is none") {
  Bench bench(Op::renew, 1);
  const Ask earlier{.server = 0, .attempt = kTheirs, .operation = op::Leave{}};
  bench.take(bench.by_token.step(Reply{earlier, bench.now, Missing{}}, bench.now));
  CHECK(bench.is(ByToken::State::trying));
}

TEST_CASE("by_token: a server that says no takes back its yes of an earlier round") {
  Bench bench(Op::renew);
  bench.answer(0, Renewed{});
  for (const ServerIndex server : {1U, 2U}) bench.answer(server, no_answer());
  bench.tick(100ms);
  bench.answer(0, Missing{});
  bench.answer(1, Renewed{});
  CHECK(bench.by_token.valid_until() == Instant{});
}

TEST_CASE("by_token: a server that lost the lock gets it back from a quorum that has it") {
  Bench bench(Op::renew, 5);
  bench.answer(1, Missing{});
  bench.answer(0, Renewed{});
  bench.answer(2, Renewed{});
  CHECK(bench.asked(Op::repair) == 0);
  bench.answer(3, Renewed{});
  REQUIRE(bench.asked(Op::repair) == 1);
  CHECK(std::get<Ask>(bench.effects.back()).server == 1);
  CHECK(life_of(std::get<Ask>(bench.effects.back())) == 30s);
  bench.answer(4, Renewed{});
  CHECK(bench.asked(Op::repair) == 1);
  CHECK_FALSE(bench.by_token.finished());
  bench.answer(1, Granted{});
  CHECK(bench.by_token.finished());
  CHECK(bench.asked(Op::repair) == 0);
}

TEST_CASE("by_token: renewals of two rounds are no quorum for a repair") {
  Bench bench(Op::renew);
  bench.answer(0, Renewed{});
  bench.answer(1, no_answer());
  bench.answer(2, Missing{});
  bench.tick(100ms);
  bench.answer(1, Renewed{});
  CHECK(bench.is(ByToken::State::done));
  CHECK(bench.asked(Op::repair) == 0);
  bench.answer(0, Renewed{});
  CHECK(bench.asked(Op::repair) == 1);
}

TEST_CASE("by_token: nothing is put back by a release, nor over somebody else's") {
  Bench release(Op::leave);
  release.answer(0, Released{});
  release.answer(1, Missing{});
  release.answer(2, Released{});
  CHECK(release.asked(Op::repair) == 0);
  Bench renewal(Op::renew);
  renewal.answer(0, Renewed{});
  renewal.answer(1, NotMine{"theirs"});
  renewal.answer(2, Renewed{});
  CHECK(renewal.asked(Op::repair) == 0);
}

TEST_CASE("by_token: silent servers are asked again, as long as the limit permits") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    bench.answer(0, op == Op::renew ? Answer(Renewed{}) : Answer(Released{}));
    bench.answer(1, no_answer());
    bench.answer(2, no_answer());
    CHECK(bench.is(ByToken::State::trying));
    CHECK(bench.by_token.deadline() == bench.now + 100ms);
    bench.tick(100ms);
    // What was renewed first would be the first to expire.
    CHECK(bench.asked(op) == (op == Op::renew ? 3 : 2));
    bench.answer(1, no_answer());
    bench.tick(10s);
    CHECK(bench.is(ByToken::State::unavailable));
    CHECK(bench.by_token.finished());
    CHECK(bench.by_token.complaints().size() == 2);
  }
}

TEST_CASE("by_token: every server is asked, however little is borne") {
  ByToken by_token(
      1, kTheirs,
      {.op = Op::renew, .timing = {.ttl = 30s, .grace = 0s}, .patience = 0s, .linger = 0s},
      Instant(1000s));
  CHECK(by_token.step(Tick{}, Instant(1000s)).size() == 1);
}

TEST_CASE("by_token: a server that can never be used is not waited for") {
  Bench bench(Op::leave);
  bench.answer(0, no_answer(false, true));
  CHECK(bench.is(ByToken::State::trying));
  bench.answer(1, no_answer(false, true));
  CHECK(bench.is(ByToken::State::unavailable));
}

TEST_CASE("by_token: a server that could not be used counts again once it answers") {
  Bench bench(Op::leave);
  bench.answer(0, no_answer(false, true));
  bench.tick(100ms);
  bench.answer(0, Released{});
  bench.answer(1, no_answer(false, true));
  CHECK(bench.is(ByToken::State::trying));
}

TEST_CASE("by_token: a release that was not heard of may have been carried out") {
  Bench bench(Op::leave, 1);
  bench.answer(0, no_answer());
  bench.tick(100ms);
  bench.answer(0, Missing{});
  CHECK(bench.is(ByToken::State::done));
}

TEST_CASE("by_token: a renewal that was not heard of makes no lock of what is missing") {
  Bench bench(Op::renew, 1);
  bench.answer(0, no_answer());
  bench.tick(100ms);
  bench.answer(0, Missing{});
  CHECK(bench.is(ByToken::State::not_ours));
}

TEST_CASE("by_token: a quorum of renewals of which one has expired is none") {
  Bench bench(Op::renew);
  bench.answer(0, Renewed{}, 29s + 900ms);
  bench.answer(1, Renewed{});
  CHECK(bench.is(ByToken::State::trying));
}

}  // namespace
}  // namespace redlock::lock
