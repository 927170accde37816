// SPDX-License-Identifier: MIT
#include "diag/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diag/blocker.h"
#include "diag/duration.h"
#include "diag/text.h"
#include "lock/value.h"

namespace redlock::diag {

using namespace lock::report;

namespace {

/// The text for an answer that is no vote for us, after "<server>: ".
std::string complaint_text(const lock::Answer& answer) {
  return std::visit(
      lock::Overloaded{
          [](const lock::Unreachable& unreachable) {
            return unreachable.why.empty()
                       ? std::string("has not answered yet; check that it is up and reachable")
                       : unreachable.why;
          },
          [](const lock::Missing&) { return std::string("the lock is gone there"); },
          [](const lock::NotMine& not_mine) {
            const bool revoked =
                lock::read_value(not_mine.blocker).kind == lock::Value::Kind::revoked;
            return std::string(revoked ? "the lock was revoked there"
                                       : "somebody else holds the lock there");
          },
          [](const lock::Refused& refusal) {
            return "the lock is " + describe(refusal) + " there";
          },
          [](const lock::NotCommitted&) {
            return std::string(
                "has not stored the fencing number; check that the user may write it there (see "
                "redlock-protocol(7))");
          },
          [](const lock::Granted& grant) {
            return fmt::format(
                "was started recently and may have forgotten a lock; trusted in {} s "
                "(see --restart-grace)",
                grant.distrusted_for.count());
          },
          [](const auto&) { return std::string("answered"); },
      },
      answer);
}

std::string_view op_name(lock::Op op) {
  switch (op) {
    case lock::Op::acquire:
      return "acquire";
    case lock::Op::renew:
      return "renew";
    case lock::Op::commit:
      return "commit fence";
    case lock::Op::repair:
      return "repair";
    case lock::Op::mark:
      return "mark as done";
    case lock::Op::unmark:
      return "remove the mark";
    case lock::Op::release:
    case lock::Op::leave:
      return "release";
    case lock::Op::inquire:
      return "look for a release";
    case lock::Op::leave_queue:
      return "leave the queue";
  }
  return "";
}

std::string vote_text(const lock::Answer& answer) {
  return std::visit(
      lock::Overloaded{
          [](const lock::Granted& grant) {
            if (grant.distrusted_for == std::chrono::seconds::zero()) return std::string("granted");
            return fmt::format("granted, but started recently, not trusted for another {} s",
                               grant.distrusted_for.count());
          },
          [](const lock::Refused& refusal) {
            return "refused, " + (refusal.turn ? "another waiter has its turn" : describe(refusal));
          },
          [](const lock::Renewed&) { return std::string("renewed"); },
          [](const lock::Committed&) { return std::string("stored"); },
          [](const lock::NotCommitted&) { return std::string("not stored"); },
          [](const lock::Released& released) {
            return std::string(released.kept ? "given up; other processes of this job still hold it"
                               : released.cooling ? "cooling down"
                                                  : "released");
          },
          [](const lock::Missing&) { return std::string("not there"); },
          [](const lock::Done& done) { return describe(done); },
          [](const lock::Marked&) { return std::string("marked"); },
          [](const auto& other) { return complaint_text(other); },
      },
      answer);
}

}  // namespace

Reporter::Reporter(os::Stderr& out, std::string_view name, std::vector<std::string> servers,
                   Verbosity verbosity, WaitNews news)
    : out_(out),
      lock_(lock_name(name)),
      servers_(std::move(servers)),
      verbosity_(verbosity),
      news_(news) {}

std::string Reporter::list(const std::vector<lock::Complaint>& complaints) const {
  std::string text;
  for (const lock::Complaint& complaint : complaints) {
    if (!text.empty()) text += "; ";
    text += servers_.at(complaint.server) + ": " + complaint_text(complaint.answer);
  }
  return text.empty() ? "no server had answered yet" : text;
}

void Reporter::line(Verbosity from, const std::string& text) {
  if (verbosity_ >= from) out_.line("redlock: " + text);
}

/// A user at a terminal wants to know the blocker; the mailbox of N - 1 cron hosts does not.
void Reporter::to_person(const std::string& text) {
  const bool person = verbosity_ == Verbosity::normal && os::Stderr::is_terminal();
  line(person ? Verbosity::normal : Verbosity::verbose, text);
}

void Reporter::say(const lock::Report& report) {
  std::visit(
      lock::Overloaded{
          [this](const Contended& contended) { say_contended(contended); },
          [this](const QuorumMissing& missing) { say_missing(missing); },
          [this](const Acquired& acquired) { say_acquired(acquired); },
          [this](const Unavailable& unavailable) {
            line(Verbosity::quiet,
                 fmt::format("{}: cannot reach enough servers ({} of {} needed): {}", lock_,
                             servers_.size() / 2 + 1, servers_.size(),
                             list(unavailable.complaints)));
          },
          [this](const SameServer& twins) {
            line(Verbosity::quiet,
                 fmt::format(
                     "{} and {} are one and the same server, and a server has one vote; leave "
                     "one of them out",
                     servers_.at(twins.first), servers_.at(twins.second)));
          },
          [this](const RenewalFailing& failing) {
            line(Verbosity::normal,
                 fmt::format("warning: {} cannot be renewed, the job will be stopped in {} if that "
                             "lasts: {}",
                             lock_, for_people(failing.job_stops_in), list(failing.complaints)));
          },
          [this](const RenewalRecovered&) {
            line(Verbosity::normal, fmt::format("{} was renewed again", lock_));
          },
          [this](const Stopping& stopping) { say_stopping(stopping); },
          [this](const NotOursAtRelease& not_ours) {
            line(
                Verbosity::quiet,
                fmt::format("{} was no longer ours when the job ended, another job may have run at "
                            "the same time: {}",
                            lock_, list(not_ours.complaints)));
          },
          [this](const Skipped& skipped) {
            to_person(fmt::format("{}: job skipped, {}", lock_, describe(skipped.done)));
          },
          [this](const MarkUnconfirmed& unconfirmed) {
            line(Verbosity::normal,
                 fmt::format("warning: too few servers know that the job of {} was done, --once "
                             "may let it run again: {}",
                             lock_, list(unconfirmed.complaints)));
          },
          [this](const ReleaseUnconfirmed& unconfirmed) {
            line(Verbosity::normal,
                 fmt::format("warning: the release of {} could not be confirmed{}, it may stay "
                             "locked {}for up to {}: {}",
                             lock_, unconfirmed.free ? " by all servers" : "",
                             unconfirmed.free ? "there " : "", for_people(unconfirmed.stays_for),
                             list(unconfirmed.complaints)));
          },
          [this](const Released& released) { say_released(released); },
      },
      report);
}

/// The display shows that the wait has begun; a log says so with -v.
void Reporter::say_contended(const Contended& contended) {
  using When = Contended::When;
  const std::string who = contended.refusal ? describe(*contended.refusal, news_.slots)
                                            : std::string("wanted by several processes at once");
  switch (contended.when) {
    case When::begins:
      return line(Verbosity::verbose, fmt::format("{} is {}; waiting", lock_, who));
    case When::changes:
      return line(news_.shown ? Verbosity::normal : Verbosity::verbose,
                  fmt::format("{} is now {}; waiting", lock_, who));
    case When::gives_up:
      break;
  }
  const bool obstructed = !contended.obstacles.empty();
  const std::string needs =
      fmt::format("{} of {} servers must grant {}: {}", servers_.size() / 2 + 1, servers_.size(),
                  lock_, list(contended.obstacles));
  if (contended.waited == lock::Duration::zero()) {
    return to_person(obstructed ? needs : fmt::format("{} is {}", lock_, who));
  }
  // Every host says this: the status alone could come from the job as well.
  const std::string limit = round_for_people(contended.waited);
  const std::string why =
      obstructed ? fmt::format("could not get {} within {}; {}", lock_, limit, needs)
      : contended.refusal
          ? fmt::format("{} is still {} after {}", lock_,
                        name_blocker(*contended.refusal, news_.slots), limit)
          : fmt::format("could not get {} within {}, because several processes want it at once",
                        lock_, limit);
  line(Verbosity::normal, fmt::format("{}, giving up (status {})", why, news_.conflict_status));
}

void Reporter::say_missing(const QuorumMissing& missing) {
  const bool said_soon = news_.shown || verbosity_ >= Verbosity::verbose;
  if (said_soon != (missing.when == QuorumMissing::When::soon)) return;
  constexpr std::chrono::hours for_ever(24 * 365);
  const bool refuses = std::ranges::any_of(missing.complaints, [](const lock::Complaint& each) {
    return std::holds_alternative<lock::Refused>(each.answer);
  });
  const std::string how_long =
      missing.gives_up_in < for_ever
          ? "for another " +
                for_people(std::chrono::ceil<std::chrono::seconds>(missing.gives_up_in))
          : std::string("without a time limit");
  line(Verbosity::normal,
       fmt::format("{}; {} of {} servers {}, {} needed, trying {}", list(missing.complaints),
                   missing.answering, servers_.size(), refuses ? "can grant the lock" : "answer",
                   servers_.size() / 2 + 1, how_long));
}

void Reporter::say_acquired(const Acquired& acquired) {
  using std::chrono::seconds;
  const std::string what = lock::is_join(acquired.attempt)
                               ? fmt::format("joined {} of the outer run", lock_)
                               : fmt::format("{} was acquired", lock_);
  line(Verbosity::verbose,
       fmt::format("{} after {} with {} of {} votes, fence {}, valid for {}", what,
                   for_people(acquired.waited), acquired.votes, servers_.size(), acquired.fence,
                   for_people(acquired.valid_for)));
  if (!news_.shown || verbosity_ >= Verbosity::verbose || acquired.waited <= seconds(1)) return;
  line(Verbosity::normal,
       fmt::format("got {} after {}", lock_,
                   round_for_people(std::chrono::floor<seconds>(acquired.waited))));
}

/// A re-entrant run and the outer one share the lock: the last of them releases it.
void Reporter::say_released(const Released& released) {
  const std::string held = for_people(released.held);
  if (released.kept) {
    return line(Verbosity::verbose,
                fmt::format("{} was given up after {}; other processes of this job still hold it",
                            lock_, held));
  }
  line(Verbosity::verbose,
       released.cools_for == lock::Duration::zero()
           ? fmt::format("{} was released after {}", lock_, held)
           : fmt::format("{}: the job ended after {}, the lock cools down for another {}", lock_,
                         held, for_people(released.cools_for)));
}

void Reporter::say_stopping(const Stopping& stopping) {
  // If the lock is deleted at once, too few votes may be left to learn that it is lost.
  const bool without_lock = stopping.reason == lock::StopReason::lost ||
                            stopping.reason == lock::StopReason::lease_ending;
  const auto by = revoked_by(stopping.complaints, revocation_notice_);
  if (without_lock && by) {
    return line(Verbosity::quiet, fmt::format("{} was revoked{}, stopping the job", lock_, *by));
  }
  switch (stopping.reason) {
    case lock::StopReason::lost:
      return line(Verbosity::quiet, fmt::format("{} was lost, stopping the job: {}", lock_,
                                                list(stopping.complaints)));
    case lock::StopReason::lease_ending:
      return line(Verbosity::quiet,
                  fmt::format("{} could not be renewed in time, stopping the job before the lock "
                              "expires: {}",
                              lock_, list(stopping.complaints)));
    case lock::StopReason::max_runtime:
      return line(Verbosity::normal,
                  fmt::format("{}: --max-runtime has passed, stopping the job", lock_));
    case lock::StopReason::supervisor_gone:
      return line(Verbosity::normal,
                  fmt::format("{}: redlock was killed, stopping the job", lock_));
  }
}

void Reporter::say_not_held(const std::string& now) {
  line(Verbosity::quiet, fmt::format("{} is not held with this token any more: {}", lock_, now));
}

void Reporter::say_not_released(const std::vector<lock::Complaint>& complaints) {
  line(
      Verbosity::quiet,
      fmt::format("the release of {} could not be confirmed ({} of {} servers needed), it may stay "
                  "locked until it expires: {}",
                  lock_, servers_.size() / 2 + 1, servers_.size(), list(complaints)));
}

void Reporter::say_vote(const lock::Reply& reply) {
  if (reply.ask.op == lock::Op::leave_queue) return;  // no vote
  line(Verbosity::detailed, fmt::format("{}: {}: {}", servers_.at(reply.ask.server),
                                        op_name(reply.ask.op), vote_text(reply.answer)));
  const auto* refusal = std::get_if<lock::Refused>(&reply.answer);
  if (refusal != nullptr) warn_of_other_settings(*refusal);
}

/// With other servers even if we get the lock: two quorums of different sets need not have a server
/// in common. While some hosts use one number of slots and some another, fewer jobs run at once
/// than either allows.
void Reporter::warn_of_other_settings(const lock::Refused& refusal) {
  const auto holder = records::read_holder(refusal.holder);
  if (!warned_of_other_servers_ && !news_.fingerprint.empty() && holder &&
      !holder->servers.empty() && holder->servers != news_.fingerprint) {
    warned_of_other_servers_ = true;
    line(Verbosity::normal,
         fmt::format("warning: {} is held by {} with other servers than here (fingerprint {}, here "
                     "{}): two jobs may run at once; compare redlock config on both hosts",
                     lock_, person(*holder), servers_of(*holder), news_.fingerprint));
  }
  const std::size_t slots = lock::slot_of(lock::read_value(refusal.blocker).token).slots;
  if (warned_of_other_slots_ || news_.slots == 0 || refusal.turn || slots == 0 ||
      slots > lock::kMostSlots || slots == news_.slots) {
    return;
  }
  warned_of_other_slots_ = true;
  line(
      Verbosity::normal,
      fmt::format("warning: {} is held by {} with --slots {}, and here it is --slots {}: runs with "
                  "different numbers exclude each other; use the same number on all hosts",
                  lock_, holder ? person(*holder) : "another run", slots, news_.slots));
}

void Reporter::say_notice(lock::ServerIndex server, const std::string& text) {
  if (records::revocation_in_notice(text)) revocation_notice_ = text;
  line(Verbosity::detailed,
       fmt::format("{}: {}", servers_.at(server),
                   text.empty() ? "subscribed to notices for the holder"
                                : "notice for the holder: " + printable(text, 100)));
}

void Reporter::say_wake_up(lock::ServerIndex server, lock::Duration in) {
  const std::string when = in == lock::Duration::zero()
                               ? "the lock is free, and it is our turn"
                               : "the lock may be ours in " + for_people(in);
  line(Verbosity::detailed, fmt::format("{}: {}", servers_.at(server), when));
}

}  // namespace redlock::diag
