// SPDX-License-Identifier: MIT
//
// Renewing and releasing by token alone.
#include "lock/by_token.h"
#include "lock_harness.h"

namespace redlock::lock {
namespace {

using namespace testing;

constexpr AttemptId kTheirs = 1;

/// A ByToken in the place of a session.
class Bench final : public Harness {
 public:
  explicit Bench(Op op, std::size_t servers = 3, Duration patience = 10s)
      : Harness(plan_for(servers)),
        operation(op),
        by_token(
            servers, kTheirs,
            {.op = op, .timing = {.ttl = 30s, .grace = 0s}, .patience = patience, .linger = 200ms},
            now) {
    effects.clear();
    step(Tick{});
  }

  Machine& machine() override { return by_token; }
  bool answer(ServerIndex server, const Answer& each, Duration age = 0ms) {
    return Harness::answer(server, operation, each, age);
  }
  void answers(const std::vector<Answer>& of) { Harness::answers(operation, of); }
  [[nodiscard]] bool is(ByToken::State state) const { return by_token.state() == state; }

  Op operation;
  ByToken by_token;
};

/// What a server says that carries out the operation.
Answer yes_to(Op op) {
  return op == Op::renew ? Answer(Renewed{}) : Answer(Released{});
}

TEST_CASE("by_token: a server that said no is asked no more, and to release, none that said yes") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    bench.answers({no_answer(), Missing{}, yes_to(op)});
    bench.stand_still(100ms);
    std::vector<ServerIndex> asked;
    for (const Ask& ask : bench.all<Ask>()) asked.push_back(ask.server);
    CHECK(asked ==
          (op == Op::renew ? std::vector<ServerIndex>{0, 2} : std::vector<ServerIndex>{0}));
  }
}

TEST_CASE("by_token: all servers are asked at the same time, for a full ttl, or to delete") {
  CHECK_MESSAGE(Bench(Op::renew, 1, 0s).asked(Op::renew) == 1, "however little is tolerated");
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
    const Answer yes = yes_to(op);
    for (const Answer& last : {yes, Answer(no_answer()), Answer(NotMine{"theirs"})}) {
      Bench bench(op);
      bench.answer(0, yes);
      CHECK(bench.is(ByToken::State::trying));
      bench.answer(2, yes);
      CHECK(bench.is(ByToken::State::done));
      CHECK_FALSE(bench.by_token.finished());
      CHECK(bench.by_token.deadline() == bench.now + 200ms);
      bench.stand_still(199ms);
      CHECK_FALSE(bench.by_token.finished());
      Bench silent = bench;
      silent.stand_still(1ms);
      CHECK(silent.by_token.finished());
      bench.answer(1, last);
      CHECK(bench.by_token.finished());
      CHECK(bench.is(ByToken::State::done));
      CHECK(bench.by_token.complaints().size() == (last.index() == yes.index() ? 0 : 1));
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

TEST_CASE("by_token: missing or not mine on too many servers for a quorum") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    bench.answer(0, Missing{});
    CHECK(bench.is(ByToken::State::trying));
    bench.answer(1, NotMine{"theirs"});
    CHECK(bench.is(ByToken::State::not_ours));
    CHECK(bench.by_token.complaints().size() == 3);
    bench.answer(2, yes_to(op));
    CHECK(bench.by_token.finished());
    CHECK(bench.is(ByToken::State::not_ours));
    CHECK(bench.asked(Op::repair) == 0);
  }
}

TEST_CASE("by_token: what the first answers make of it") {
  const Answer never = no_answer(false, true);
  struct Row {
    Op op;
    std::size_t servers;
    std::vector<Answer> answers;
    ByToken::State state;
  };
  const std::vector<Row> rows = {
      {Op::renew, 1, {Renewed{}}, ByToken::State::done},
      {Op::renew, 2, {Renewed{}, Missing{}}, ByToken::State::not_ours},
      {Op::leave, 3, {never}, ByToken::State::trying},
      {Op::leave, 3, {never, never}, ByToken::State::unavailable},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    Bench bench(row.op, row.servers);
    bench.answers(row.answers);
    CHECK(bench.is(row.state));
  }
}

TEST_CASE("by_token: an answer to what was asked before is none") {
  Bench bench(Op::renew, 1);
  const Ask earlier{.server = 0, .attempt = kTheirs, .operation = op::Leave{}};
  bench.step(Reply{earlier, bench.now, Missing{}});
  CHECK(bench.is(ByToken::State::trying));
}

TEST_CASE("by_token: a server that says no takes back its yes of an earlier round") {
  Bench bench(Op::renew);
  bench.answers({Renewed{}, no_answer(), no_answer()});
  bench.stand_still(100ms);
  bench.answers({Missing{}, Renewed{}});
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
  bench.Harness::answer(1, Op::repair, Granted{});
  CHECK(bench.by_token.finished());
  CHECK(bench.asked(Op::repair) == 0);
}

TEST_CASE("by_token: renewals of two rounds are no quorum for a repair") {
  Bench bench(Op::renew);
  bench.answers({Renewed{}, no_answer(), Missing{}});
  bench.stand_still(100ms);
  bench.answer(1, Renewed{});
  CHECK(bench.is(ByToken::State::done));
  CHECK(bench.asked(Op::repair) == 0);
  bench.answer(0, Renewed{});
  CHECK(bench.asked(Op::repair) == 1);
}

TEST_CASE("by_token: nothing is put back by a release, nor over somebody else's") {
  Bench release(Op::leave);
  release.answers({Released{}, Missing{}, Released{}});
  CHECK(release.asked(Op::repair) == 0);
  Bench renewal(Op::renew);
  renewal.answers({Renewed{}, NotMine{"theirs"}, Renewed{}});
  CHECK(renewal.asked(Op::repair) == 0);
}

TEST_CASE("by_token: a quorum of renewals of which one has expired is none") {
  Bench bench(Op::renew);
  bench.answer(0, Renewed{}, 29s + 900ms);
  bench.answer(1, Renewed{});
  CHECK(bench.is(ByToken::State::trying));
}

TEST_CASE("by_token: silent servers are asked again, as long as the limit permits") {
  for (const Op op : {Op::renew, Op::leave}) {
    Bench bench(op);
    bench.answers({yes_to(op), no_answer(), no_answer()});
    CHECK(bench.is(ByToken::State::trying));
    CHECK(bench.by_token.deadline() == bench.now + 100ms);
    bench.stand_still(100ms);
    // What was renewed first would be the first to expire.
    CHECK(bench.asked(op) == (op == Op::renew ? 3 : 2));
    bench.answer(1, no_answer());
    bench.stand_still(10s);
    CHECK(bench.is(ByToken::State::unavailable));
    CHECK(bench.by_token.finished());
    CHECK(bench.by_token.complaints().size() == 2);
  }
}

TEST_CASE("by_token: missing after a request that was not heard of: released, but not renewed") {
  for (const Op op : {Op::renew, Op::leave}) {
    CAPTURE(op == Op::renew);
    Bench bench(op, 1);
    bench.answer(0, no_answer());
    bench.stand_still(100ms);
    bench.answer(0, Missing{});
    CHECK(bench.is(op == Op::renew ? ByToken::State::not_ours : ByToken::State::done));
  }
}

TEST_CASE("by_token: a server that could not be used counts again once it answers") {
  Bench bench(Op::leave);
  bench.answer(0, no_answer(false, true));
  bench.stand_still(100ms);
  bench.answer(0, Released{});
  bench.answer(1, no_answer(false, true));
  CHECK(bench.is(ByToken::State::trying));
}

}  // namespace
}  // namespace redlock::lock
