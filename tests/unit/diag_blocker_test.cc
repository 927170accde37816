// SPDX-License-Identifier: MIT
#include "diag/blocker.h"

#include "doctest.h"

using namespace redlock;
using namespace std::chrono_literals;

namespace {

const std::string kToken(40, 'a');
const records::Holder kOps{
    .host = "bastion", .user = "ops", .pid = 4711, .since = 1'800'000'000'000ms};
const records::Holder kWeb{.host = "web1", .user = "root", .pid = 7, .command = "b", .since = 1ms};

lock::Refused refusal_by(std::string blocker, const records::Holder& who) {
  return {.blocker = std::move(blocker), .ttl_left = 20s, .holder = records::to_json(who)};
}

}  // namespace

TEST_CASE("the process that revoked a lock is named in text that is safe to print") {
  CHECK(diag::process(kOps) == "ops@bastion (pid 4711)");
  CHECK(diag::process({.host = "", .user = "e\x1b[2J", .pid = 0, .since = {}}) == "e?[2J@ (pid 0)");
}

TEST_CASE("who revoked the lock, as the servers say or a notice said") {
  using lock::Complaint;
  const std::string value = records::revoked_value(kToken, kOps);
  const std::string notice = "revoked" + value.substr(value.find(' '));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Missing{}}}, ""));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::NotMine{"other"}}}, "released"));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, "") == " was revoked");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}, Complaint{1, lock::NotMine{value}}}, "") ==
        " was revoked by ops@bastion (pid 4711)");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}}, notice) ==
        " was revoked by ops@bastion (pid 4711)");
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Unreachable{}}}, notice));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, notice) ==
        " was revoked by ops@bastion (pid 4711)");
  records::Holder newer = kOps;
  newer.replaces = true;
  const std::string replaced = records::revoked_value(kToken, newer);
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{replaced}}}, "") ==
        ": replaced by ops@bastion (pid 4711, --replace)");
}

TEST_CASE("a waiter reads who revoked the lock, and that its job is being stopped") {
  CHECK(diag::describe(refusal_by(records::revoked_value(kToken, kOps), kWeb)) ==
        "revoked by ops@bastion (pid 4711) from root@web1 (pid 7, b), whose job is being stopped; "
        "free at the latest in 20 s");
  for (bool records::Holder::*const without_job :
       {&records::Holder::unattended, &records::Holder::unwarned}) {
    records::Holder who = kWeb;
    who.*without_job = true;
    CHECK(
        diag::describe(refusal_by("revoked:x", who)) ==
        "revoked from root@web1 (pid 7, b); redlock stops no process; free at the latest in 20 s");
  }
  CHECK(diag::describe(lock::Refused{.blocker = "revoked:x", .ttl_left = 20s, .holder = {}}) ==
        "revoked from its holder (who says nothing about itself); free at the latest in 20 s");
}

TEST_CASE("a message says why the lock is held") {
  records::Holder who = kWeb;
  who.message = "every \"hour\"\x1b";
  CHECK(diag::name_blocker(refusal_by(kToken, who)) ==
        "held by root@web1 (pid 7, b, \"every \"hour\"?\")");
  CHECK(diag::work_of(who) == "b (every \"hour\"?)");
  who.command.clear();
  CHECK(diag::work_of(who) == "(every \"hour\"?)");
  who.message.clear();
  CHECK(diag::work_of(who).empty());
  who.message = std::string(5000, 'x');
  CHECK(diag::name_blocker(refusal_by(kToken, who)).size() < 300);
}

TEST_CASE("each way to be held has its words") {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch() - 2h - 1min);
  records::Holder who = kWeb;
  who.since = since;
  const std::string slot = "p0204" + std::string(35, 'a');
  struct Case {
    std::string blocker;
    std::string slots;
    std::string words;
  };
  const std::vector<Case> cases = {
      {kToken, "", "held by NAME for TIME; unless renewed it expires in 20 s"},
      {"cooling:" + kToken, "", "cooling down after NAME, begun TIME ago; free in 20 s"},
      {"shared:" + kToken, "", "held shared by NAME for TIME; unless renewed it expires in 20 s"},
      {slot, ",a,b,c", "slot 2 of 4 held by NAME for TIME; unless renewed it expires in 20 s"},
      {slot, "a,b,c,", "slot 2 of 4 held by NAME for TIME; unless renewed it expires in 20 s"},
      {slot, "a,,b,c", "slot 2 of 4 held by NAME for TIME; unless renewed it expires in 20 s"},
      {slot, "a,b,c,d",
       "held in all 4 slots, one of them by NAME for TIME; unless renewed it expires in 20 s"},
      {"shared:" + slot, "",
       "held with 4 slots by NAME for TIME; unless renewed it expires in 20 s"},
      {"revoked:" + slot, "",
       "revoked from NAME, whose job is being stopped; free at the latest in 20 s"},
  };
  for (const auto& [blocker, slots, words] : cases) {
    lock::Refused refusal = refusal_by(blocker, who);
    refusal.slots = slots;
    std::string said = diag::describe(refusal);
    for (const auto& [part, name] :
         {std::pair("root@web1 (pid 7, b)", "NAME"), {"2h 1m", "TIME"}}) {
      if (const auto at = said.find(part); at != said.npos) {
        said.replace(at, std::string_view(part).size(), name);
      }
    }
    CHECK(said == words);
  }
}

TEST_CASE("a key that no redlock of ours has written: what it is, and what to do") {
  const std::pair<const char*, const char*> types[] = {
      {"list", "another program (its key is a Redis list, not a lock of redlock's)"},
      {"hash",
       "another program (its key is a Redis hash, not a lock of redlock's; for one of "
       "Redisson's, use --as redisson)"},
      {"redisson", "a process that uses Redisson (its key says nothing more)"},
      {"redisson mode",
       "a read-write lock of Redisson's, which does not respect other locks: use "
       "another name"},
      {"plain string", "a redlock without --as redisson, or another program (its key is a string)"},
      {"crowd",
       "more jobs than can be counted: somebody has added entries to the list of its "
       "readers, so all slots count as taken"},
  };
  for (const auto& [type, words] : types) {
    lock::Refused refusal{.blocker = lock::stand_in_for(type), .ttl_left = {}, .holder = {}};
    CHECK(diag::name_blocker(refusal) == std::string("held by ") + words);
    CHECK(diag::describe(refusal) ==
          std::string("held by ") + words + "; it never expires by itself");
    refusal.ttl_left = 9s;
    CHECK(diag::describe(refusal).ends_with("; unless renewed it expires in 9 s"));
  }
}

TEST_CASE("who could share the lock hears which waiter comes first") {
  const std::string slot = "shared:p0204" + std::string(35, 'a');
  const auto said = [](std::string blocker, std::optional<std::string> waits_before) {
    return diag::name_blocker(lock::Refused{.blocker = std::move(blocker),
                                            .ttl_left = 20s,
                                            .holder = "",
                                            .waits_before = std::move(waits_before)});
  };
  const std::string held = said("shared:" + kToken, {});
  CHECK(held == "held shared by another run (which says nothing about itself)");
  CHECK(said("shared:" + kToken, "") ==
        "kept for an earlier waiter, which needs it exclusively; it is " + held);
  const std::string writer = records::to_json(kWeb);
  CHECK(said("shared:" + kToken, writer) ==
        "kept for root@web1 (pid 7, b), which needs it exclusively; it is " + held);
  const std::string one_of_them =
      " all 4 slots to be free; one of them is held by another run (which says nothing about "
      "itself)";
  CHECK(said(slot, "no JSON") == "kept for an earlier waiter, which needs" + one_of_them);
  CHECK(said(slot, writer) == "kept for root@web1 (pid 7, b), which needs" + one_of_them);
}

TEST_CASE("a holder that has missed a renewal may be dead") {
  records::Holder who{.host = "web1", .user = "root", .pid = 7, .command = "b", .ttl = 30s};
  CHECK(diag::renewed_ago(who, 17s) == 13s);
  CHECK_FALSE(diag::renewed_ago(who, {}));
  CHECK_FALSE(diag::renewed_ago(who, 31s));   // a minimum hold
  CHECK(diag::renewed_ago(who, -5s) == 35s);  // a minimum hold keeps the key
  CHECK_FALSE(diag::overdue(who, 15s));
  REQUIRE(diag::overdue(who, 14s));
  const auto say = [&who](std::string blocker) {
    return diag::describe(lock::Refused{
        .blocker = std::move(blocker), .ttl_left = 14s, .holder = records::to_json(who)});
  };
  CHECK(say("x") ==
        "held by root@web1 (pid 7, b); last renewed 16 s ago (every 10 s): the holder may be "
        "dead; free in 14 s");
  for (const std::string other : {"cooling:x", "revoked:x", "shared:x"}) {
    CAPTURE(other);
    CHECK(say(other).find("dead") == std::string::npos);
  }
  who.unattended = true;
  CHECK(say("x").find("dead") == std::string::npos);
  who.unattended = false;
  who.maintenance = true;
  CHECK(say("x").find("dead") == std::string::npos);
}

TEST_CASE("a maintenance hold has no process, and ends by itself") {
  records::Holder who = kWeb;
  who.maintenance = true;
  CHECK(diag::describe(refusal_by(kToken, who)) ==
        "held for maintenance by root@web1; the hold ends in 20 s");
  CHECK(diag::work_of(who) == "maintenance");
  who.message = "new disk";
  CHECK(diag::describe(refusal_by(kToken, who)) ==
        "held for maintenance by root@web1 (\"new disk\"); the hold ends in 20 s");
  CHECK(diag::work_of(who) == "maintenance (new disk)");
  CHECK(diag::describe(refusal_by("revoked:" + kToken, who)) ==
        "revoked from root@web1 (\"new disk\"); free at the latest in 20 s");
}
