// SPDX-License-Identifier: MIT
//
// What release --force says about the lock that it takes away, for each kind of holder.
#include "force/found.h"

#include "doctest.h"

#include <string>
#include <vector>

#include "contains.h"
#include "force/force_release.h"

namespace redlock::force {
namespace {

using namespace std::chrono_literals;
using lock::State;
using tests::contains;

/// Held by one redlock, which renews it.
Found found_in(State state) {
  Found found;
  found.lock.judgement.state = state;
  found.lock.most_left = 30s;
  found.lock.holder = records::Holder{.host = "h", .user = "u", .pid = 7};
  found.lock.holder->ttl = 30s;
  return found;
}

Found held(std::size_t slots, std::size_t readers) {
  Found found = found_in(State::held);
  found.lock.shared = true;
  found.lock.slots = slots;
  found.lock.reader_count = readers;
  return found;
}

}  // namespace

TEST_CASE("force: the question names what ends, and the last line what may still be running") {
  struct Row {
    Found found;
    std::string holder, revokes, removes, freed;
  };
  Found hold = found_in(State::held);
  hold.hold = true;
  Found joined = hold;
  lock::Sighting two;
  two.holds = 2;
  joined.lock.seen = {two};
  Found failed = hold;
  failed.failed = true;
  Found unattended = found_in(State::held);
  unattended.lock.holder->unattended = true;
  Found unwarned = found_in(State::held);
  unwarned.lock.holder->unwarned = true;
  Found nobody = found_in(State::undecided);
  nobody.lock.holder.reset();
  const std::string process = "u@h (pid 7)";
  const std::string person = "u@h";
  const std::string anyway = "Release the lock immediately, although ";
  const std::string running = " may still be running?";
  const std::string ended = ": the maintenance hold of u@h is over";
  const std::string stopped =
      " now; redlock stopped no process: the script that took the lock finds ";
  const std::vector<Row> rows = {
      {found_in(State::held), process, "Stop its job and release the lock?",
       anyway + "its job" + running, " now: its old job may still be running until the holder"},
      {held(0, 3), "its 3 readers", "Stop the jobs of all its readers and release the lock?",
       anyway + "the jobs of all its readers" + running, " now: the jobs of its readers may still"},
      {held(4, 2), "its 2 holders", "Stop the jobs in all its slots and release the lock?",
       anyway + "the jobs in all its slots" + running, " now: the jobs of its holders may still"},
      {hold, person, "End the maintenance hold?", "End the maintenance hold?", ended},
      {joined, person, "Stop the job of a run inside, and end the hold?",
       "Stop the job of a run inside, and end the hold?", ended},
      {failed, person, "End the maintenance hold?", "End the maintenance hold?",
       ": its job had failed, and the hold of --hold-on-failure is over"},
      {unattended, process, "No process renews the lock, and redlock would stop no job.",
       anyway + "redlock would stop no process?", stopped + "out at its next renew"},
      {unwarned, process, "The holder's keeper would stop no process. Revoke the lock anyway?",
       anyway + "redlock would stop no process?", stopped + "that out when it releases the lock"},
      {found_in(State::cooling), process, "Cut its minimum hold short?",
       "Cut its minimum hold short?", ": its minimum hold was cut short"},
      {found_in(State::foreign), process, "Delete the key of another program,",
       "although its job goes on?", ": its key is deleted; the job of its old holder does not"},
      {nobody, "its holder", "Delete the keys shown, although jobs may be running under them?",
       "Delete the keys shown, although jobs may be running under them?", " now: its old job"},
      {found_in(State::free), process, "Delete the key that was left over?",
       "Delete the key that was left over?", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.revokes);
    CHECK(row.found.holder() == row.holder);
    CHECK(contains(row.found.question(false), row.revokes));
    CHECK(contains(row.found.question(true), row.removes));
    CHECK_MESSAGE(row.found.how_free().starts_with(row.freed), row.found.how_free());
  }
}

TEST_CASE("force: after a revocation, who was notified of it, and when the lock is free") {
  struct Row {
    Found found;
    std::string notified, not_notified, ended;
  };
  Found unattended = found_in(State::held);
  unattended.lock.holder->unattended = true;
  Found unwarned = found_in(State::held);
  unwarned.lock.holder->unwarned = true;
  Found unknown = found_in(State::held);
  unknown.lock.holder->ttl = {};
  Found late = found_in(State::held);
  late.lock.lease_left = 5s;
  const std::string could_not = " could not be notified, and will notice at ";
  const std::string job = "the job has";
  const std::vector<Row> rows = {
      {found_in(State::held), "the holder was notified and stops its job; ",
       "the holder" + could_not + "its next renewal, within 10 s; ", job},
      {held(0, 3), "the readers were notified and stop their jobs; ",
       "the readers" + could_not + "their next renewals, within 10 s; ", "the jobs have"},
      {held(4, 2), "the holders were notified and stop their jobs; ",
       "the holders" + could_not + "their next renewals, within 10 s; ", "the jobs have"},
      {unwarned, "the holder was notified, and stops no process; ",
       "the holder" + could_not + "its next renewal, within 10 s; ", "its process has"},
      {unattended, "the holder was notified, and stops no process; ",
       "redlock acquire took it without --keep-for, ", "its process has"},
      {unknown, "the holder was notified and stops its job; ",
       "the holder" + could_not + "its next renewal; ", job},
      {late, "the holder was notified and stops its job; ",
       "it could not be notified; last renewed 25 s ago (every 10 s): the holder may be dead; ",
       job},
  };
  for (const Row& row : rows) {
    for (const bool ends : {false, true}) {
      Found found = row.found;
      if (!ends) found.lock.most_left.reset();
      const std::string latest =
          ends ? ", in 30 s at the latest" : "; it has no time to live, and if its holder is dead";
      CHECK_MESSAGE(found.outlook(true).starts_with(row.notified + "the lock is free when " +
                                                    row.ended + " ended" + latest),
                    found.outlook(true));
      CHECK_MESSAGE(found.outlook(false).starts_with(row.not_notified), found.outlook(false));
      CHECK(contains(found.outlook(false), latest));
    }
  }
}

TEST_CASE("force --wait: gives up ten seconds after the longest-lived key must have expired") {
  const lock::Instant now(1h);
  observe::Observed seen;
  CHECK(wait_limit(seen, now) == lock::kNever);
  seen.least_left = 1s;
  seen.most_left = 9s;
  CHECK(wait_limit(seen, now) == now + 19s);
}

TEST_CASE("force: no sentence says that a job is stopped where nobody stops one") {
  for (const bool unattended : {false, true}) {
    for (const bool unwarned : {false, true}) {
      for (const std::size_t readers : {0U, 3U}) {
        CAPTURE(unattended);
        CAPTURE(unwarned);
        CAPTURE(readers);
        Found found = readers > 0 ? held(0, readers) : found_in(State::held);
        found.lock.holder->unattended = unattended;
        found.lock.holder->unwarned = unwarned;
        const bool nobody = readers == 0 && (unattended || unwarned);
        CHECK(contains(found.question(false), "Stop ") != nobody);
        CHECK(contains(found.question(true), "stop no process") == nobody);
        CHECK(contains(found.outlook(true), "stops no process") == nobody);
        CHECK(contains(found.how_free(), "stopped no process") == nobody);
      }
    }
  }
}

}  // namespace redlock::force
