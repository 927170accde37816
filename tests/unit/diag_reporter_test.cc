// SPDX-License-Identifier: MIT
//
// What is said of a wait, and to whom. Off a terminal: standard error is a file here.
#include "diag/reporter.h"

#include "diag/blocker.h"
#include "diag/text.h"
#include "records/records.h"
#include "written.h"

namespace redlock::diag {
namespace {

using namespace std::chrono_literals;
using namespace lock::report;

/// What a reporter with these settings writes while it has that to do.
std::string written(const std::function<void(Reporter&)>& task, WaitNews news,
                    Verbosity verbosity = Verbosity::normal) {
  return tests::written_by([&] {
           os::Stderr out;
           Reporter reporter(out, "L", {"db1", "db2", "db3"}, verbosity, std::move(news));
           task(reporter);
         })
      .err;
}

std::string said(const lock::Report& report, WaitNews news,
                 Verbosity verbosity = Verbosity::normal) {
  return written([&report](Reporter& reporter) { reporter.say(report); }, std::move(news),
                 verbosity);
}

/// Of a reply that comes several times.
std::string said_of(const lock::Reply& reply, WaitNews news,
                    Verbosity verbosity = Verbosity::normal) {
  const auto say = [&reply](Reporter& reporter) {
    for (int times = 0; times < 2; ++times) reporter.say_vote(reply);
  };
  return written(say, std::move(news), verbosity);
}

const WaitNews kShown{.shown = true, .conflict_status = 1};
const WaitNews kCrowded{.max_waiting = 1};
const WaitNews kAlone{.shown = false, .conflict_status = 75};

lock::Refused taken() {
  const records::Holder holder{.host = "db7", .user = "root", .pid = 123, .command = "./deploy.sh"};
  return {.blocker = "aaaa", .ttl_left = 20s, .holder = records::to_json(holder)};
}

TEST_CASE("a wait in vain is told in one line, to everybody; -q: to nobody") {
  const Contended vain{taken(), Contended::When::gives_up, 10min};
  CHECK(said(vain, kAlone) ==
        "redlock: lock \"L\" is still held by root@db7 (pid 123, ./deploy.sh) after 10m, "
        "giving up (status 75)\n");
  CHECK(said(vain, kShown).ends_with("giving up (status 1)\n"));
  CHECK(said(vain, kAlone, Verbosity::quiet).empty());
  CHECK(said(Contended{std::nullopt, Contended::When::gives_up, 700ms}, kAlone) ==
        "redlock: could not get lock \"L\" within 700 ms, because several processes want it at the "
        "same time, giving up (status 75)\n");
  CHECK(said(Contended{std::nullopt, Contended::When::gives_up, 700ms, {}, 0, 2}, kAlone) ==
        "redlock: could not get lock \"L\" within 700 ms, because earlier waiters came first, "
        "giving up (status 75)\n");
  const auto crowded = [](std::size_t waiters) {
    return said(Contended{taken(), Contended::When::gives_up, 0s, {}, waiters}, kCrowded);
  };
  CHECK(crowded(3).ends_with("; 3 runs wait already (--max-waiting 1), giving up (status 1)\n"));
  CHECK(crowded(1).starts_with("redlock: lock \"L\" is held by root@db7 (pid 123, ./deploy.sh); "));
  CHECK(crowded(1).ends_with("; 1 run waits already (--max-waiting 1), giving up (status 1)\n"));
}

TEST_CASE("a lock that was gone at the end: the servers that decided it are named, and no others") {
  const std::string text = said(
      NotOursAtRelease{{{0, lock::Unreachable{}}, {1, lock::Missing{}}, {2, lock::Missing{}}}}, {});
  CHECK(text.ends_with(": db2: the lock is gone there; db3: the lock is gone there\n"));
}

TEST_CASE("a conflict under -n is silent off a terminal unless -v") {
  const Contended at_once{taken(), Contended::When::gives_up, 0s};
  CHECK(said(at_once, kAlone).empty());
  CHECK(said(at_once, kShown).empty());
  CHECK(said(at_once, kAlone, Verbosity::verbose) ==
        "redlock: lock \"L\" is held by root@db7 (pid 123, ./deploy.sh); unless renewed it expires "
        "in 20 s\n");
}

TEST_CASE("that the holder changes is told to somebody who looks on") {
  const Contended changed{taken(), Contended::When::changes, 5s};
  CHECK(said(changed, kShown).starts_with("redlock: lock \"L\" is now held by root@db7"));
  CHECK(said(changed, kAlone).empty());
  CHECK(
      said(changed, kAlone, Verbosity::verbose).starts_with("redlock: lock \"L\" is now held by"));
  const Contended begun{taken(), Contended::When::begins, 0s};
  CHECK_MESSAGE(said(begun, kShown).empty(), "the display shows it");
  CHECK(said(begun, kAlone, Verbosity::verbose).ends_with("; waiting\n"));
}

TEST_CASE("missing servers are reported soon to a user who watches, to others if it lasts") {
  QuorumMissing missing{{{1, lock::Unreachable{.why = "connection refused"}},
                         {2, lock::Unreachable{.why = "no route"}}},
                        1,
                        QuorumMissing::When::soon,
                        8200ms};
  const std::string line =
      "redlock: db2: connection refused; db3: no route; 1 of 3 servers answer, 2 needed, "
      "trying for another 9 s\n";
  CHECK(said(missing, kShown) == line);
  CHECK(said(missing, kAlone).empty());
  CHECK(said(missing, kAlone, Verbosity::verbose) == line);
  CHECK(said(missing, kShown, Verbosity::quiet).empty());
  missing.when = QuorumMissing::When::lasting;
  CHECK_MESSAGE(said(missing, kShown).empty(), "it has been reported");
  CHECK(said(missing, kAlone) == line);
  CHECK(said(missing, kAlone, Verbosity::verbose).empty());
  CHECK(said(missing, kAlone, Verbosity::quiet).empty());
  missing.gives_up_in = 24h * 1000;
  CHECK(said(missing, kAlone).ends_with("2 needed, trying without a time limit\n"));
}

TEST_CASE("servers that answered, but were restarted recently, have no vote") {
  const lock::Granted young{.run_id = "x", .distrusted_for = 40s};
  const QuorumMissing missing{{{0, young}, {1, young}, {2, lock::Unreachable{.why = "no route"}}},
                              0,
                              QuorumMissing::When::lasting,
                              8s};
  CHECK(said(missing, kAlone).find("; 0 of 3 servers have a vote, 2 needed") != std::string::npos);
}

TEST_CASE("a server that has not answered yet is not named if others are the reason to give up") {
  const lock::Unreachable silent;
  const lock::Unreachable wrong{.permanent = true, .why = "wrong user or password"};
  const std::string reason = ": wrong user or password";
  const std::string start = "redlock: lock \"L\": cannot reach enough servers (2 of 3 needed): ";
  CHECK(said(Unavailable{{{0, silent}, {1, wrong}, {2, wrong}}}, kAlone) ==
        start + "db2" + reason + "; db3" + reason + "\n");
  CHECK(said(Unavailable{{{0, silent}, {1, wrong}}}, kAlone) ==
        start + "db1: has not answered yet; check that it is up and reachable; db2" + reason +
            "\n");
}

TEST_CASE("a win after more than a second is reported to a user who watches") {
  Acquired acquired{1, 7, 3, 43'700ms, 29s};
  CHECK(said(acquired, kShown) == "redlock: got lock \"L\" after 43 s\n");
  CHECK(said(acquired, kAlone).empty());
  CHECK(said(acquired, kShown, Verbosity::quiet).empty());
  const std::string verbose = said(acquired, kShown, Verbosity::verbose);
  CHECK(verbose.find("acquired after 44 s") != std::string::npos);
  CHECK_MESSAGE(verbose.find("got lock") == std::string::npos, "once is enough");
  acquired.waited = 1s;
  CHECK(said(acquired, kShown).empty());
}

/// Of db1, db2 and db3, and a holder with that list, which refuses us.
WaitNews news_of_three() {
  return {.list = ServerList({{"aaaaaa", "db1"}, {"bbbbbb", "db2"}, {"cccccc", "db3"}})};
}

lock::Reply refused_by(const std::string& list) {
  const records::Holder holder{.host = "db7", .user = "root", .list = list};
  const lock::Refused refusal{.blocker = "aaaa", .ttl_left = {}, .holder = to_json(holder)};
  return {{}, lock::Instant{}, refusal};
}

TEST_CASE("a holder whose servers need not share one with ours is pointed out, once") {
  CHECK(said_of(refused_by("ccccccdddddd999999"), news_of_three()).empty());  // not sorted: no list
  CHECK(said_of(refused_by("ccccccddddddeeeeee"), news_of_three()) ==
        "redlock: warning: lock \"L\" is held by root@db7 with other servers than here "
        "(db3, dddddd, eeeeee): two jobs may run at the same time; compare redlock config on both "
        "hosts\n");
  CHECK(said_of(refused_by("aaaaaabbbbbbcccccc"), news_of_three()).empty());
  CHECK_MESSAGE(said_of(refused_by("aaaaaa"), news_of_three()).size() > 50, "1 and 3 servers");
  CHECK_MESSAGE(said_of(refused_by(""), news_of_three()).empty(), "another program's holder");
  CHECK(said_of(refused_by("ccccccddddddeeeeee"), {}).empty());
  CHECK(said_of(refused_by("ccccccddddddeeeeee"), news_of_three(), Verbosity::quiet).empty());
}

TEST_CASE("a holder of a roll-out is pointed out with -v, and to a waiter that lacks servers") {
  const std::string added = "aaaaaabbbbbbccccccdddddd";
  CHECK(said_of(refused_by(added), news_of_three()).empty());
  CHECK(said_of(refused_by("aaaaaabbbbbb"), news_of_three(), Verbosity::verbose) ==
        "redlock: lock \"L\" is held by root@db7 with another list of servers (without db3); both "
        "exclude each other\n");
  const auto lacks = [](const std::string& list) {
    return [list](Reporter& reporter) {
      reporter.say_vote(refused_by(list));
      reporter.say(Unavailable{{{0, lock::Unreachable{.why = "refused"}}}});
    };
  };
  const std::string out =
      "redlock: lock \"L\": cannot reach enough servers (2 of 3 needed): db1: "
      "refused";
  CHECK(written(lacks(added), news_of_three()) ==
        out + "; root@db7 uses another list of servers (with dddddd), ours may be out of date\n");
  CHECK(written(lacks("aaaaaabbbbbbcccccc"), news_of_three()) == out + "\n");
}

TEST_CASE("--newest: a server where it may have no effect is pointed out, once") {
  const auto refused_at = [](std::size_t place, lock::Ticket ticket) {
    lock::Refused refusal = taken();
    refusal.place = place;
    return lock::Reply{
        {.server = 1, .operation = lock::op::Acquire{.ticket = ticket}}, {}, refusal};
  };
  const WaitNews news{.newest = true};
  CHECK(said_of(refused_at(0, 7), news) ==
        "redlock: warning: db2 does not let us replace older waiters, so --newest may have no "
        "effect; redlock check names the permissions that are missing\n");
  CHECK(said_of(refused_at(1, 7), news).empty());
  CHECK_MESSAGE(said_of(refused_at(0, 0), news).empty(), "it has not asked for a place yet");
  CHECK(said_of(refused_at(0, 7), {}).empty());
}

TEST_CASE("--replace: -v tells where the order did not arrive") {
  const auto answer = [](lock::Answer said) {
    return [said](Reporter& reporter) {
      reporter.say_vote({{.server = 2, .operation = lock::op::Revoke{}}, {}, said});
    };
  };
  const lock::Unreachable denied{.maybe_applied = false, .permanent = true, .why = "NOPERM"};
  CHECK(written(answer(denied), {}, Verbosity::verbose) == "redlock: db3: revoke: NOPERM\n");
  CHECK(written(answer(denied), {}).empty());
  CHECK(written(answer(lock::Revoked{}), {}, Verbosity::verbose).empty());
  CHECK(written(answer(lock::Missing{}), {}, Verbosity::verbose).empty());
}

TEST_CASE("a superseded run names the newer one, or the build that succeeded") {
  const lock::Superseded waiter{.who = taken().holder};
  CHECK(said(Superseded{waiter, 0, 43s}, kAlone) ==
        "redlock: lock \"L\": superseded by root@db7 (./deploy.sh) after 43 s\n");
  CHECK(said(Superseded{{.who = "?"}, 0, 43s}, kAlone) ==
        "redlock: lock \"L\": superseded by a newer run after 43 s\n");
  const lock::Superseded build{.build = 4713, .ago = 12min, .who = "{}"};
  CHECK(said(Superseded{build, 4711, 43s}, kAlone) ==
        "redlock: lock \"L\": build 4711 is older than 4713, which succeeded 12m 0s ago\n");
  CHECK(said(Superseded{waiter, 0, 43s}, kAlone, Verbosity::quiet).empty());
}

TEST_CASE("a job that is stopped for its lease: whether the lock has expired is said as it is") {
  CHECK(said(Stopping{lock::StopReason::lease_ending, {}}, kAlone)
            .find("stopping the job before the lock expires") != std::string::npos);
  CHECK(said(Stopping{lock::StopReason::lease_ending, {}, true}, kAlone)
            .find("stopping the job although the lock has expired") != std::string::npos);
}

TEST_CASE("a job is stopped: the message has the reason, and the person who revoked its lock") {
  using enum lock::StopReason;
  const records::Holder by{.host = "db9", .user = "ops"};
  const lock::Complaint revoked{
      1,
      lock::NotMine{.blocker = records::revoked_value(std::string(40, 'a'), by), .revoked = true}};
  for (const bool known : {false, true}) {
    CAPTURE(known);
    const auto text = [&](lock::StopReason reason) {
      const std::vector<lock::Complaint> complaints{known ? revoked
                                                          : lock::Complaint{1, lock::Missing{}}};
      return said(Stopping{reason, complaints}, kAlone);
    };
    const auto has = [](const std::string& whole, const char* part) {
      return whole.find(part) != whole.npos;
    };
    for (const lock::StopReason reason : {lost, lease_ending}) {
      CHECK(has(text(reason), "was revoked by ops@db9") == known);
      CHECK(has(text(reason), reason == lost ? "was lost" : "could not be renewed in time") !=
            known);
    }
    CHECK(has(text(max_runtime), "--max-runtime has passed"));
    CHECK(has(text(supervisor_gone), "redlock was killed"));
  }
}

TEST_CASE("what a command has left is counted, but not for a quiet user") {
  const auto ending = [](std::size_t processes) {
    return [processes](Reporter& reporter) { reporter.say_ending(processes, 4s); };
  };
  CHECK(written(ending(1), kAlone) ==
        "redlock: lock \"L\": 1 process of the job is still ending, KILL in 4 s\n");
  CHECK(written(ending(3), kAlone) ==
        "redlock: lock \"L\": 3 processes of the job are still ending, KILL in 4 s\n");
  CHECK(written(ending(3), kAlone, Verbosity::quiet).empty());
  CHECK(written(ending(0), kAlone).empty());
}

TEST_CASE("-vv: the words for each answer of a server, after those for each request") {
  const auto vote = [](lock::Operation operation, lock::Answer answer) {
    const auto say = [&](Reporter& reporter) {
      reporter.say_vote({{.operation = std::move(operation)}, {}, std::move(answer)});
    };
    const std::string text = written(say, {}, Verbosity::detailed);
    return text.empty() ? text : text.substr(std::string_view("redlock: db1: ").size());
  };
  namespace op = lock::op;
  lock::Refused turn = taken();
  turn.turn = true;
  const std::pair<lock::Answer, std::string> answers[] = {
      {lock::Granted{}, "granted"},
      {lock::Granted{.run_id = {}, .distrusted_for = 7s},
       "granted, but started recently, not trusted for another 7 s"},
      {taken(), "refused, " + describe(taken())},
      {turn, "refused, another waiter has its turn"},
      {lock::Released{}, "released"},
      {lock::Released{.cooling = true}, "cooling down"},
      {lock::Released{.cooling = true, .kept = true},
       "given up; other processes of this job still hold it"},
      {lock::Released{.held = true}, "held for maintenance"},
      {lock::NotCommitted{}, "not stored"},
      {lock::Unreachable{.why = "NOPERM"}, "NOPERM"},
      {lock::Unreachable{.why = {}}, "not needed any more"},
      {lock::NotMine{"x"}, "somebody else holds the lock there"},
      {lock::NotMine{"revoked:x"}, "the lock was revoked there"},
  };
  for (const auto& [answer, words] : answers) {
    CHECK(vote(op::Acquire{}, answer) == "acquire: " + words + "\n");
  }
  const std::pair<lock::Operation, std::string> requests[] = {
      {op::Renew{}, "renew"},
      {op::Repair{}, "repair"},
      {op::Commit{}, "commit fence"},
      {op::Mark{}, "mark as done"},
      {op::Unmark{}, "remove the mark"},
      {op::Revoke{}, "revoke"},
      {op::Release{}, "release"},
      {op::Leave{}, "release"},
      {op::Inquire{}, "look for a release"}};
  for (const auto& [request, words] : requests) {
    CHECK(vote(request, lock::Missing{}) == words + ": not there\n");
  }
  CHECK(vote(op::LeaveQueue{}, lock::Released{}).empty());
}

TEST_CASE("-v: how a lock was had and given up, in each of the ways") {
  const std::string lock = "redlock: lock \"L\"";
  const std::pair<lock::Report, std::string> reports[] = {
      {Acquired{1, 7, 3, 2s, 29s},
       lock + " was acquired after 2 s with 3 of 3 votes, fence 7, valid for 29 s\n"},
      {Acquired{lock::kFirstJoin, 7, 3, 2s, 29s},
       "redlock: joined lock \"L\" of the outer run after 2 s with 3 of 3 votes, fence 7, valid "
       "for "
       "29 s\n"},
      {Released{3s, 0s, false, false}, lock + " was released after 3 s\n"},
      {Released{3s, 0s, true, false}, lock + ": the job ended after 3 s, the lock cools down\n"},
      {Released{3s, 5s, true, false},
       lock + ": the job ended after 3 s, the lock cools down for another 5 s\n"},
      {Released{3s, 0s, false, true},
       lock + " was given up after 3 s; other processes of this job still hold it\n"},
      {Released{3s, 0s, true, true, false, true},
       "redlock: warning: lock \"L\" may stay locked until the ttl of a run inside has passed: "
       "that "
       "run was killed, and could not release it\n"},
      {Released{3s, 3599'001ms, true, false, true},
       "redlock: the command failed, and lock \"L\" is held for maintenance for 1h "
       "(--hold-on-failure); to end that sooner: redlock release --force L\n"},
      {HoldMissing{},
       "redlock: warning: " + without_hold("lock \"L\"") + ": the lock was lost or revoked\n"},
      {HoldMissing{{{1, lock::Missing{}}}},
       "redlock: warning: " + without_hold("lock \"L\"") + ": db2: the lock is gone there\n"},
  };
  for (const auto& [report, words] : reports) {
    CHECK(said(report, kAlone, Verbosity::verbose) == words);
    const bool for_all =
        words.find("acquired") == words.npos && words.find(" after ") == words.npos;
    CHECK(said(report, kAlone).empty() != for_all);
  }
  for (const bool free : {false, true}) {
    const std::string text = said(ReleaseUnconfirmed{{{1, lock::Missing{}}}, 20s, free}, kAlone);
    CHECK((text.find("confirmed by all servers, it may stay locked there for") != text.npos) ==
          free);
    CHECK((text.find("confirmed, it may stay locked for up to 20 s: db2") != text.npos) != free);
  }
}

TEST_CASE("a holder with another number of slots is pointed out, once; never by what cannot be") {
  const auto held_with = [](const std::string& slots, bool turn) {
    lock::Refused refusal = taken();
    refusal.blocker = "p01" + slots + std::string(35, 'a');
    refusal.turn = turn;
    return lock::Reply{{}, {}, refusal};
  };
  CHECK(
      said_of(held_with("04", false), {.slots = 2}) ==
      "redlock: warning: lock \"L\" is held by root@db7 with --slots 4, and here it is --slots 2: "
      "runs with different numbers exclude each other; use the same number on all hosts\n");
  CHECK(said_of(held_with("04", true), {.slots = 2}).empty());
  for (const char* const slots : {"00", "02", "41", "ff"}) {
    CHECK(said_of(held_with(slots, false), {.slots = 2}).empty());
  }
  CHECK(said_of(held_with("04", false), {}).empty());
}

TEST_CASE("-vv: what is heard, and that a revocation is not forgotten over later notices") {
  const std::string note = records::revoked_value("t", {.host = "db9", .user = "ops"});
  const auto told = [&](Reporter& reporter) {
    reporter.say_notice(0, "");
    reporter.say_notice(1, "revoked" + note.substr(note.find(' ')));
    reporter.say_notice(1, "other\x1b");
    reporter.say_wake_up(1, 0s, false);
    reporter.say_wake_up(1, 2s, false);
    reporter.say_wake_up(2, 0s, true);
    reporter.say(Stopping{lock::StopReason::lost, {{0, lock::Missing{}}}});
  };
  const std::string all = written(told, {}, Verbosity::detailed);
  CAPTURE(all);
  for (const char* const line :
       {"db1: subscribed to notices for the holder\n", "db2: notice for the holder: other?\n",
        "db2: the lock is free, and it is our turn\n", "db2: the lock may be ours in 2 s\n",
        "db3: Redisson has unlocked the lock, or we begin to hear when it does\n",
        "lock \"L\" was revoked by ops@db9 (pid 0), stopping the job\n"}) {
    CAPTURE(line);
    CHECK(all.find(std::string("redlock: ") + line) != all.npos);
  }
  CHECK(std::ranges::count(written(told, {}, Verbosity::verbose), '\n') == 1);
}

TEST_CASE("a wait in vain: a holder that may be dead, and servers that must grant, are told") {
  const records::Holder dead{.host = "db7", .user = "root", .pid = 1, .ttl = 30s};
  const lock::Refused late{.blocker = "aaaa", .ttl_left = 10s, .holder = records::to_json(dead)};
  CHECK(
      said(Contended{late, Contended::When::gives_up, 2s}, kAlone)
          .ends_with("after 2 s; last renewed 20 s ago (every 10 s): the holder may be dead; free "
                     "in 10 s; giving up (status 75)\n"));
  const std::string needs =
      "2 of 3 servers must grant lock \"L\": db1: the lock is " + describe(taken()) + " there";
  Contended obstructed{{}, Contended::When::gives_up, 2s, {{0, taken()}}};
  CHECK(said(obstructed, kAlone) ==
        "redlock: could not get lock \"L\" within 2 s; " + needs + ", giving up (status 75)\n");
  obstructed.waited = 0s;
  CHECK(said(obstructed, kAlone, Verbosity::verbose) == "redlock: " + needs + "\n");
  const QuorumMissing missing{{{0, taken()}}, 1, QuorumMissing::When::lasting, 8s};
  CHECK(said(missing, kAlone).find("1 of 3 servers can grant the lock, 2 needed") !=
        std::string::npos);
}

}  // namespace
}  // namespace redlock::diag
