// SPDX-License-Identifier: MIT
#include "diag/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diag/blocker.h"
#include "diag/text.h"
#include "lock/value.h"

namespace redlock::diag {

using namespace lock::report;

namespace {

/// The text for an answer that is no vote for us, after "<server>: ".
std::string complaint_text(const lock::Answer& answer) {
  return std::visit<std::string>(
      lock::Overloaded{
          [](const lock::Unreachable& unreachable) {
            if (!unreachable.why.empty()) return unreachable.why;
            return std::string("has not answered yet; check that it is up and reachable");
          },
          [](const lock::Missing&) { return "the lock is gone there"; },
          [](const lock::NotMine& other) {
            return lock::read_value(other.blocker).kind == lock::Value::Kind::revoked
                       ? "the lock was revoked there"
                       : "somebody else holds the lock there";
          },
          [](const lock::Refused& refusal) {
            return "the lock is " + describe(refusal) + " there";
          },
          [](const lock::NotCommitted&) {
            return "has not stored the fencing number; the user may lack a permission: redlock "
                   "check --acl USER [NAME] prints the rules it needs";
          },
          [](const lock::Granted& grant) {
            return fmt::format(
                "was started recently and may have forgotten a lock; trusted in {} s "
                "(see --restart-grace)",
                grant.distrusted_for.count());
          },
          [](const auto&) { return "answered"; },
      },
      answer);
}

template <class Kind>
bool some_are(const std::vector<lock::Complaint>& complaints) {
  return std::ranges::any_of(complaints, [](const lock::Complaint& each) {
    return std::holds_alternative<Kind>(each.answer);
  });
}

std::string_view op_name(lock::Op op) {
  constexpr std::string_view kInOrder[] = {
      // of lock::Op
      "acquire",         "renew",  "repair",  "commit fence", "mark as done",
      "remove the mark", "revoke", "release", "release",      "look for a release"};
  static_assert(std::size(kInOrder) == static_cast<std::size_t>(lock::Op::leave_queue));
  return kInOrder[static_cast<std::size_t>(op)];  // leave_queue is no vote
}

std::string vote_text(const lock::Answer& answer) {
  return std::visit<std::string>(
      lock::Overloaded{
          [](const lock::Granted& grant) {
            const auto left = grant.distrusted_for.count();
            if (left == 0) return std::string("granted");
            return fmt::format("granted, but started recently, not trusted for another {} s", left);
          },
          [](const lock::Refused& refusal) {
            return "refused, " + (refusal.turn ? "another waiter has its turn" : describe(refusal));
          },
          [](const lock::Renewed&) { return "renewed"; },
          [](const lock::Committed&) { return "stored"; },
          [](const lock::NotCommitted&) { return "not stored"; },
          [](const lock::Released& released) {
            return released.held      ? "held for maintenance"
                   : released.kept    ? "given up; other processes of this job still hold it"
                   : released.cooling ? "cooling down"
                                      : "released";
          },
          [](const lock::Missing&) { return "not there"; },
          [](const lock::Done& done) { return describe(done); },
          [](const lock::Superseded&) { return "a newer run makes this one needless"; },
          [](const lock::Marked&) { return "marked"; },
          [](const lock::Revoked&) { return "revoked from its holder"; },
          [](const lock::Unreachable& none) {
            return none.why.empty() ? std::string("not needed any more") : none.why;
          },
          [](const auto& other) { return complaint_text(other); },
      },
      answer);
}

}  // namespace

Reporter::Reporter(os::Stderr& out, std::string_view name, std::vector<std::string> servers,
                   Verbosity verbosity, WaitNews news)
    : out_(out),
      release_(command_about(name, {"redlock", "release", "--force"}, news.where)),
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

/// Without the servers that have not answered yet, if redlock gave up because of the others.
std::vector<lock::Complaint> Reporter::decisive(std::vector<lock::Complaint> complaints) const {
  const auto silent = [](const lock::Complaint& each) {
    const auto* unreachable = std::get_if<lock::Unreachable>(&each.answer);
    return unreachable != nullptr && unreachable->why.empty();
  };
  const std::size_t others = complaints.size() - lock::how_many(complaints, silent);
  if (others >= lock::blocking_minority(servers_.size())) std::erase_if(complaints, silent);
  return complaints;
}

template <class... Values>
void Reporter::line(Verbosity from, fmt::format_string<Values...> text, Values&&... values) {
  if (verbosity_ < from) return;
  out_.line("redlock: " + fmt::format(text, std::forward<Values>(values)...));
}

/// A user at a terminal wants to know the blocker. In the mail of every cron host that did not run
/// the job, it would be noise.
Verbosity Reporter::for_a_user() const {
  const bool user = verbosity_ == Verbosity::normal && os::Stderr::is_terminal();
  return user ? Verbosity::normal : Verbosity::verbose;
}

void Reporter::say(const lock::Report& report) {
  std::visit(
      lock::Overloaded{
          [this](const Unavailable& unavailable) {
            line(Verbosity::quiet, "{}: cannot reach enough servers ({} of {} needed): {}{}", lock_,
                 needed(), servers_.size(), list(decisive(unavailable.complaints)), other_list_);
          },
          [this](const SameServer& twins) {
            line(Verbosity::quiet,
                 "{} and {} are one and the same server, and a server has one vote; leave one of "
                 "them out",
                 servers_.at(twins.first), servers_.at(twins.second));
          },
          [this](const RenewalFailing& failing) {
            line(Verbosity::normal,
                 "warning: {} cannot be renewed, the job will be stopped in {} if that lasts: {}",
                 lock_, for_people(failing.job_stops_in), list(failing.complaints));
          },
          [this](const RenewalRecovered&) {
            line(Verbosity::normal, "{} was renewed again", lock_);
          },
          [this](const NotOursAtRelease& not_ours) {
            line(Verbosity::quiet,
                 "{} was no longer ours when the job ended, another job may have run at the same "
                 "time: {}",
                 lock_, list(decisive(not_ours.complaints)));
          },
          [this](const Skipped& skipped) {
            line(for_a_user(), "{}: job skipped, {}", lock_, describe(skipped.done));
          },
          [this](const MarkUnconfirmed& unconfirmed) {
            line(Verbosity::normal,
                 "warning: too few servers know that the job of {} was done, {}: {}", lock_,
                 without_mark(unconfirmed.mark), list(unconfirmed.complaints));
          },
          [this](const HoldMissing& missing) {
            line(Verbosity::normal, "warning: {}: {}", without_hold(lock_),
                 missing.complaints.empty() ? "the lock was lost or revoked"
                                            : list(missing.complaints));
          },
          [this](const auto& each) { tell(each); },
      },
      report);
}

void Reporter::say_ending(std::size_t processes, lock::Duration kill_in) {
  if (processes == 0) return;
  const bool one = processes == 1;
  line(Verbosity::normal, "{}: {} process{} of the job {} still ending, KILL in {}", lock_,
       processes, one ? "" : "es", one ? "is" : "are", for_people(kill_in));
}

void Reporter::tell(const Superseded& superseded) {
  const auto& [by, build, waited] = superseded;
  if (by.build > 0) {
    return line(Verbosity::normal, "{}: build {} is older than {}, which succeeded {} ago", lock_,
                build, by.build, for_people(by.ago));
  }
  const auto who = records::read_holder(by.who);
  const std::string work = who ? work_of(*who) : "";
  std::string newer = who && !who->host.empty() ? person(*who) : "a newer run";
  if (!work.empty()) newer += " (" + work + ")";
  line(Verbosity::normal, "{}: superseded by {} after {}", lock_, newer, for_people(waited));
}

/// The display shows that the wait has begun; a log says so with -v.
void Reporter::tell(const Contended& contended) {
  using When = Contended::When;
  const std::string who = contended.refusal ? describe(*contended.refusal)
                                            : "wanted by several processes at the same time";
  if (contended.when == When::begins) {
    return line(Verbosity::verbose, "{} is {}; waiting", lock_, who);
  }
  if (contended.when == When::changes) {
    return line(news_.shown ? Verbosity::normal : Verbosity::verbose, "{} is now {}; waiting",
                lock_, who);
  }
  if (contended.crowd > 0) {
    return line(Verbosity::normal, "{} is {}; {} already (--max-waiting {}), giving up (status {})",
                lock_, who,
                counted(contended.crowd, "run") + (contended.crowd == 1 ? " waits" : " wait"),
                news_.max_waiting, news_.conflict_status);
  }
  const bool obstructed = !contended.obstacles.empty();
  const std::string needs =
      fmt::format("{} of {} servers must grant {}: {}{}", needed(), servers_.size(), lock_,
                  list(contended.obstacles), other_list_);
  if (contended.waited == lock::Duration::zero()) {
    return line(for_a_user(), "{}", obstructed ? needs : fmt::format("{} is {}", lock_, who));
  }
  // Every host says this: the status alone could come from the job as well.
  const std::string limit = round_for_people(contended.waited);
  const std::string why =
      obstructed ? fmt::format("could not get {} within {}; {}", lock_, limit, needs)
      : contended.refusal
          ? fmt::format("{} is still {} after {}", lock_, name_blocker(*contended.refusal), limit)
          : fmt::format("could not get {} within {}, because {}", lock_, limit,
                        contended.place > 1 ? "earlier waiters came first"
                                            : "several processes want it at the same time");
  const auto late = contended.refusal ? Blocker(*contended.refusal).late : std::nullopt;
  std::string but = ",";
  if (late) {
    but =
        fmt::format("; {}; free in {};", describe(*late), for_people(*contended.refusal->ttl_left));
  }
  line(Verbosity::normal, "{}{} giving up (status {})", why, but, news_.conflict_status);
}

void Reporter::tell(const QuorumMissing& missing) {
  const bool said_soon = news_.shown || verbosity_ >= Verbosity::verbose;
  if (said_soon != (missing.when == QuorumMissing::When::soon)) return;
  constexpr std::chrono::hours no_limit(24 * 365);
  const std::string_view what = some_are<lock::Refused>(missing.complaints)   ? "can grant the lock"
                                : some_are<lock::Granted>(missing.complaints) ? "have a vote"
                                                                              : "answer";
  const std::string how_long =
      missing.gives_up_in < no_limit
          ? "for another " +
                for_people(std::chrono::ceil<std::chrono::seconds>(missing.gives_up_in))
          : "without a time limit";
  line(Verbosity::normal, "{}; {} of {} servers {}, {} needed, trying {}{}",
       list(missing.complaints), missing.answering, servers_.size(), what, needed(), how_long,
       other_list_);
}

void Reporter::tell(const Acquired& acquired) {
  using std::chrono::seconds;
  const std::string what = lock::is_join(acquired.attempt)
                               ? fmt::format("joined {} of the outer run", lock_)
                               : fmt::format("{} was acquired", lock_);
  line(Verbosity::verbose, "{} after {} with {} of {} votes, fence {}, valid for {}", what,
       for_people(acquired.waited), acquired.votes, servers_.size(), acquired.fence,
       for_people(acquired.valid_for));
  if (!news_.shown || verbosity_ >= Verbosity::verbose || acquired.waited <= seconds(1)) return;
  line(Verbosity::normal, "got {} after {}", lock_,
       round_for_people(std::chrono::floor<seconds>(acquired.waited)));
}

void Reporter::tell(const Stopping& stopping) {
  // If somebody has deleted the lock, too few votes may be left to learn that it is lost.
  const bool without_lock = stopping.reason == lock::StopReason::lost ||
                            stopping.reason == lock::StopReason::lease_ending;
  const auto by = revoked_by(stopping.complaints, revocation_notice_);
  if (without_lock && by) {
    return line(Verbosity::quiet, "{}{}, stopping the job", lock_, *by);
  }
  switch (stopping.reason) {
    case lock::StopReason::lost:
      return line(Verbosity::quiet, "{} was lost, stopping the job: {}", lock_,
                  list(stopping.complaints));
    case lock::StopReason::lease_ending:
      return line(Verbosity::quiet, "{} could not be renewed in time, stopping the job {}: {}",
                  lock_,
                  stopping.expired ? "although the lock has expired" : "before the lock expires",
                  list(stopping.complaints));
    case lock::StopReason::max_runtime:
      return line(Verbosity::normal, "{}: --max-runtime has passed, stopping the job", lock_);
    case lock::StopReason::supervisor_gone:
      return line(Verbosity::normal, "{}: redlock was killed, stopping the job", lock_);
  }
}

void Reporter::tell(const ReleaseUnconfirmed& unconfirmed) {
  line(Verbosity::normal,
       "warning: the release of {} could not be confirmed{}, it may stay locked {}for up to {}: {}",
       lock_, unconfirmed.free ? " by all servers" : "", unconfirmed.free ? "there " : "",
       for_people(unconfirmed.stays_for), list(unconfirmed.complaints));
}

/// A re-entrant run and the outer one share the lock: the last of them releases it.
void Reporter::tell(const Released& released) {
  const std::string held = for_people(released.held);
  if (released.holds) {
    line(Verbosity::normal,
         "the command failed, and {} is held for maintenance for {} (--hold-on-failure); to end "
         "that sooner: {}",
         lock_, round_for_people(std::chrono::ceil<std::chrono::seconds>(released.cools_for)),
         release_);
  } else if (released.kept && released.job_gone) {
    line(Verbosity::normal,
         "warning: {} may stay locked until the ttl of a run inside has passed: that run was "
         "killed, and could not release it",
         lock_);
  } else if (released.kept) {
    line(Verbosity::verbose, "{} was given up after {}; other processes of this job still hold it",
         lock_, held);
  } else if (!released.cools) {
    line(Verbosity::verbose, "{} was released after {}", lock_, held);
  } else {
    const bool known = released.cools_for > lock::Duration::zero();
    line(Verbosity::verbose, "{}: the job ended after {}, the lock cools down{}", lock_, held,
         known ? " for another " + for_people(released.cools_for) : "");
  }
}

void Reporter::say_not_held(const std::string& now) {
  line(Verbosity::quiet, "{} is not held with this token any more: {}", lock_, now);
}

void Reporter::say_not_released(const std::vector<lock::Complaint>& complaints) {
  line(Verbosity::quiet,
       "the release of {} could not be confirmed ({} of {} servers needed), it may stay locked "
       "until it expires: {}",
       lock_, needed(), servers_.size(), list(complaints));
}

void Reporter::say_vote(const lock::Reply& reply) {
  if (reply.ask.op() == lock::Op::leave_queue) return;  // no vote
  const bool lost_order = reply.ask.op() == lock::Op::revoke &&
                          std::holds_alternative<lock::Unreachable>(reply.answer);  // of --replace
  line(lost_order ? Verbosity::verbose : Verbosity::detailed, "{}: {}: {}",
       servers_.at(reply.ask.server), op_name(reply.ask.op()), vote_text(reply.answer));
  const auto* refusal = std::get_if<lock::Refused>(&reply.answer);
  if (refusal == nullptr) return;
  warn_of_other_settings(*refusal);
  const auto* acquire = reply.ask.as<lock::op::Acquire>();
  if (!news_.newest || acquire == nullptr || acquire->ticket == 0 || refusal->place > 0) return;
  if (std::exchange(warned_of_no_place_, true)) return;
  line(Verbosity::normal,
       "warning: {} does not let us replace older waiters, so --newest may have no effect; "
       "redlock check names the permissions that are missing",
       servers_.at(reply.ask.server));
}

/// Even if we get the lock.
void Reporter::compare_lists(const records::Holder& holder) {
  const Relation relation = news_.list.relation(holder.list);
  if (relation < Relation::overlapping || !other_list_.empty()) return;
  const std::string who = person(holder);
  other_list_ = fmt::format("; {} uses another list of servers ({}), ours may be out of date", who,
                            news_.list.difference(holder.list));
  if (relation == Relation::overlapping) {
    return line(Verbosity::verbose,
                "{} is held by {} with another list of servers ({}); both exclude each other",
                lock_, who, news_.list.difference(holder.list));
  }
  line(Verbosity::normal,
       "warning: {} is held by {} with other servers than here ({}): two jobs may run at the same "
       "time; compare redlock config on both hosts",
       lock_, who, news_.list.names(holder.list));
}

/// While hosts use different numbers of slots, fewer jobs run than either allows.
void Reporter::warn_of_other_settings(const lock::Refused& refusal) {
  const auto holder = records::read_holder(refusal.holder);
  if (holder) compare_lists(*holder);
  const std::size_t slots = lock::slot_of(lock::read_value(refusal.blocker).token).slots;
  if (warned_of_other_slots_ || news_.slots == 0 || refusal.turn || slots == 0 ||
      slots > lock::kMostSlots || slots == news_.slots) {
    return;
  }
  warned_of_other_slots_ = true;
  line(Verbosity::normal,
       "warning: {} is held by {} with --slots {}, and here it is --slots {}: runs with different "
       "numbers exclude each other; use the same number on all hosts",
       lock_, holder ? person(*holder) : "another run", slots, news_.slots);
}

void Reporter::say_notice(lock::ServerIndex server, const std::string& text) {
  if (records::revocation_in_notice(text)) revocation_notice_ = text;
  line(Verbosity::detailed, "{}: {}", servers_.at(server),
       text.empty() ? "subscribed to notices for the holder"
                    : "notice for the holder: " + printable(text, 100));
}

void Reporter::say_listening(lock::ServerIndex server) {
  line(Verbosity::detailed, "{}: subscribed to wake-ups", servers_.at(server));
}

void Reporter::say_wake_up(lock::ServerIndex server, lock::Duration in, bool by_redisson) {
  line(Verbosity::detailed, "{}: {}", servers_.at(server),
       by_redisson ? "Redisson has unlocked the lock, or we begin to hear when it does"
       : in == lock::Duration::zero() ? "the lock is free, and it is our turn"
                                      : "the lock may be ours in " + for_people(in));
}

}  // namespace redlock::diag
