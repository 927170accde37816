// SPDX-License-Identifier: MIT
//
// Redlock takes exactly the hold that it has shown: each server compares the token before it sets
// or deletes a key. If the lock changes hands in between, it stays as it is.

#include "force/force_release.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "config/quote.h"
#include "diag/blocker.h"
#include "diag/duration.h"
#include "diag/text.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "lock/timing.h"
#include "lock/vote.h"
#include "os/clock.h"
#include "records/holder.h"

namespace redlock::force {

namespace {

using How = cli::ForceRelease::How;
using lock::State;
using lock::TakeoverResult;

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

bool confirmed(std::string_view question) {
  std::fputs(fmt::format("{} [y/N] ", question).c_str(), stderr);
  std::fflush(stderr);
  std::array<char, 64> line{};
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) {
    std::fputc('\n', stderr);
    return false;
  }
  const std::string_view word(line.data());
  return word == "y\n" || word == "Y\n" || word == "yes\n" || word == "Yes\n" || word == "YES\n";
}

/// `pattern`: a name that no lock has, and that looks like a pattern.
[[noreturn]] void refuse_pattern(const std::string& pattern, look::Query& query) {
  std::vector<std::string> names = query.names(look::Query::Which::held);
  std::erase_if(names, [&pattern](const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) != 0;
  });
  std::ranges::transform(names, names.begin(), config::quote);
  throw Error(ExitStatus::usage,
              fmt::format("release takes the exact name of one lock, and {} looks like a pattern; {}",
                          config::quote(pattern),
                          names.empty() ? "it matches no lock that is held"
                                        : fmt::format("it matches {}", fmt::join(names, ", "))));
}

class Forcing {
 public:
  explicit Forcing(const cli::ForceRelease& request)
      : request_(request), settings_(request.settings), name_(diag::lock_name(request.name)) {}

  ExitStatus run();

 private:
  ExitStatus remove_left_overs();
  ExitStatus refuse_without_now();
  [[nodiscard]] std::string_view question() const;
  ExitStatus take_away();
  void revoke_and_log(Takeover& takeover);
  ExitStatus revoke(Takeover& takeover);
  ExitStatus remove(Takeover& takeover);
  [[nodiscard]] std::string how_free() const;
  ExitStatus not_taken(TakeoverResult result, const Takeover& takeover);
  ExitStatus not_deleted(std::size_t deleted, const Takeover& takeover);
  ExitStatus wait();
  [[nodiscard]] bool removes() const { return hold_ || request_.how == How::remove; }
  void say(const std::string& what) const;
  ExitStatus fail(ExitStatus status, const std::string& what) const;
  [[nodiscard]] std::string holder() const;
  /// `redlock acquire` took it for no process: no redlock renews it.
  [[nodiscard]] bool unattended() const;
  [[nodiscard]] std::string latest() const;

  const cli::ForceRelease& request_;
  const config::Settings& settings_;
  std::string name_;  ///< as sentences name the lock
  look::Observed lock_;
  bool hold_ = false;     ///< it is a maintenance hold: there is no job to wait for
  bool revoked_ = false;  ///< on so many servers that its holder has no quorum
};

/// What is said about the lock begins with its name. This is for a person; -q suppresses it.
void Forcing::say(const std::string& what) const {
  if (!settings_.quiet) driver::complain({name_ + what});
}

ExitStatus Forcing::fail(ExitStatus status, const std::string& what) const {
  driver::complain({name_ + what});
  return status;
}

std::string Forcing::holder() const {
  if (lock_.shared) {
    return "its " + diag::counted(lock_.reader_count, lock_.slots > 0 ? "holder" : "reader");
  }
  if (!lock_.holder) return "its holder";
  return hold_ ? diag::person(*lock_.holder) : diag::process(*lock_.holder);
}

bool Forcing::unattended() const {
  return lock_.holder && lock_.holder->unattended && !lock_.shared;
}

std::string Forcing::latest() const {
  return lock_.most_left ? fmt::format(", in {} at the latest", diag::for_people(*lock_.most_left))
                         : std::string(
                               "; it has no time to live, and if its holder is dead, only "
                               "--now frees it");
}

ExitStatus Forcing::run() {
  const bool asks = !request_.confirmed;
  if (asks && !has_terminal()) {
    throw Error(ExitStatus::usage,
                "release --force asks before it stops a job, and there is no terminal to ask on; "
                "--yes skips the question");
  }
  look::Query query(settings_);
  lock_ = query.look({request_.name}).front();
  const bool enough = lock_.judgement.answered >= lock::quorum(settings_.servers.size());
  if (!settings_.quiet || !enough) driver::complain(query.complaints());
  if (!enough) {
    return fail(
        ExitStatus::unavailable,
        fmt::format(": {} of {} servers could be asked, and a quorum is {}; nothing was done",
                    lock_.judgement.answered, settings_.servers.size(),
                    lock::quorum(settings_.servers.size())));
  }
  const State state = lock_.judgement.state;
  const bool left_over = state == State::free && !look::left_overs(lock_).empty();
  if (state == State::free && !left_over) {
    if (cli::is_pattern(request_.name)) refuse_pattern(request_.name, query);
    say(" is free, there is nothing to release");
    return ExitStatus::ok;
  }
  if (asks || !settings_.quiet) {
    const diag::Screen screen = driver::output_screen(settings_, STDERR_FILENO);
    std::fputs(look::as_block(lock_, settings_, screen).c_str(), stderr);
  }
  hold_ = lock_.holder && lock_.holder->maintenance;
  const bool others = state == State::foreign || state == State::undecided;
  if (others && !removes()) return refuse_without_now();
  const bool done_before = state == State::revoked && !removes();
  if (!done_before && asks && !confirmed(question())) {
    driver::complain({"nothing was done"});
    return ExitStatus::conflict;
  }
  return left_over ? remove_left_overs() : take_away();
}

/// A quorum has nothing there, so nobody has the lock by these keys. But a run that is taking the
/// lock may have got one server's vote just now: within two seconds such a key goes, or gets a
/// quorum. The key of another program needs --now, as always.
ExitStatus Forcing::remove_left_overs() {
  const std::vector<std::size_t> servers = look::left_overs(lock_);
  const auto shown = [&](const look::Observed& lock) {
    std::vector<std::string> values;
    for (const std::size_t server : servers) {
      const auto* seen = std::get_if<lock::Sighting>(&lock.seen[server]);
      values.push_back(seen == nullptr ? std::string() : seen->value);
    }
    return values;
  };
  const bool foreign = std::ranges::any_of(servers, [&](std::size_t server) {
    return lock::state_of(std::get<lock::Sighting>(lock_.seen[server])) == State::foreign;
  });
  if (foreign && !removes()) {
    return fail(ExitStatus::conflict,
                " is free, but one server has a key of another program: --now deletes it");
  }
  const std::vector<std::string> before = shown(lock_);
  lock_ = look_again(settings_, request_.name);
  const bool same = look::left_overs(lock_) == servers && shown(lock_) == before;
  if (!same || lock_.judgement.state != State::free) {
    return fail(ExitStatus::conflict, " has changed since; nothing was deleted, try again");
  }
  Takeover takeover(settings_, lock_);
  takeover.remove();
  const lock::Tally tally = takeover.tally();
  if (tally.failed > 0) {
    return fail(ExitStatus::unavailable,
                " is free, but a key that was left over may still be there; try again: " +
                    takeover.troubles());
  }
  if (tally.changed > 0) return not_taken(TakeoverResult::changed, takeover);
  say(" is free: the key that was left over is deleted");
  return ExitStatus::ok;
}

ExitStatus Forcing::refuse_without_now() {
  if (lock_.judgement.state == State::foreign) {
    return fail(ExitStatus::conflict,
                " is held by another program, and redlock cannot stop its job: --now only deletes "
                "the key, and that job then runs at the same time as the next one");
  }
  return fail(ExitStatus::unavailable,
              " is undecided: no quorum of the servers agrees, perhaps the lock is changing hands; "
              "try again, or delete exactly the keys shown, with --now");
}

std::string_view Forcing::question() const {
  switch (lock_.judgement.state) {
    case State::free:
      return "Delete the key that was left over?";
    case State::cooling:
      return "Cut its minimum hold short?";
    case State::foreign:
      return "Delete the key of another program, although its job goes on?";
    case State::undecided:
      return "Delete the keys shown, although jobs may be running under them?";
    default:
      break;
  }
  if (hold_) return "End the maintenance hold?";
  if (unattended()) {
    return removes() ? "Release the lock at once, although redlock would stop no process?"
                     : "Nobody renews the lock, and redlock would stop no job. Revoke it all the "
                       "same?";
  }
  if (lock_.slots > 0) {
    return removes()
               ? "Release the lock at once, although the jobs in its slots may still be running?"
               : "Stop the jobs in all its slots and release the lock?";
  }
  if (lock_.shared) {
    return removes()
               ? "Release the lock at once, although the jobs of its readers may still be running?"
               : "Stop the jobs of all its readers and release the lock?";
  }
  return removes() ? "Release the lock at once, although its job may still be running?"
                   : "Stop its job and release the lock?";
}

ExitStatus Forcing::take_away() {
  Takeover takeover(settings_, lock_);
  const State state = lock_.judgement.state;
  if (state == State::held || state == State::revoked) return revoke(takeover);
  // A holder of one of the leftovers must learn of it, and not put it back.
  if (state == State::undecided) revoke_and_log(takeover);
  return remove(takeover);
}

void Forcing::revoke_and_log(Takeover& takeover) {
  const records::Holder us = driver::describe_ourselves(
      settings_, lock_.id, {"redlock", "release", "--force", request_.name});
  takeover.revoke(records::since_now(us));
  if (lock_.judgement.state == State::revoked)
    return;  // somebody else has revoked it, and logged that
  records::LogEntry entry;
  entry.who = us;
  takeover.log(entry);
}

ExitStatus Forcing::revoke(Takeover& takeover) {
  const bool before = lock_.judgement.state == State::revoked;
  revoke_and_log(takeover);
  const lock::Tally tally = takeover.tally();
  const std::size_t servers = settings_.servers.size();
  const TakeoverResult result = lock::revoked(tally, servers);
  if (result != TakeoverResult::yes) return not_taken(result, takeover);
  revoked_ = true;
  if (removes()) {
    if (tally.taken + tally.gone >= lock::quorum(servers)) return remove(takeover);
    // The other servers would still be a quorum for the holder.
    return not_deleted(0, takeover);
  }
  const std::string how = before ? "had been revoked before" : "is revoked from " + holder();
  const std::string_view who = lock_.slots > 0 ? "holders" : lock_.shared ? "readers" : "holder";
  std::string notices = fmt::format(
      "the {} {}", who,
      lock_.shared ? "were notified and stop their jobs" : "was notified and stops its job");
  if (takeover.notified() == 0) {
    notices = fmt::format("the {} could not be notified, and will notice at {}", who,
                          lock_.shared ? "their next renewals" : "its next renewal");
    if (lock_.holder && lock_.holder->ttl.count() > 0) {
      notices += ", within " + diag::for_people(lock_.holder->ttl / 3);
    }
  }
  say(unattended() && takeover.notified() == 0
          ? fmt::format(" {}: redlock acquire took it without --keep-for, so nobody renews it, and "
                        "redlock stops no job; the lock is free when it expires{}; --now frees it "
                        "at once",
                        how, latest())
          : fmt::format(" {}: {}; the lock is free when {} ended{}", how, notices,
                        lock_.shared ? "the jobs have" : "the job has", latest()));
  return request_.waits ? wait() : ExitStatus::ok;
}

/// What the user gets who takes the lock now.
std::string Forcing::how_free() const {
  switch (lock_.judgement.state) {
    case State::cooling:
      return ": its minimum hold was cut short";
    case State::foreign:
      return ": its key is deleted; the job of its old holder does not notice that, and may still "
             "be running";
    default:
      break;
  }
  if (hold_) return fmt::format(": the maintenance hold of {} is over", holder());
  if (lock_.shared) {
    return fmt::format(
        " at once: the jobs of its {} may still be running until these notice, and for up to "
        "their graces after that",
        lock_.slots > 0 ? "holders" : "readers");
  }
  if (unattended()) {
    return " at once; redlock stopped no process: the script that took the lock finds out at its "
           "next renew";
  }
  return " at once: its old job may still be running until the holder notices, and for up to its "
         "grace after that";
}

ExitStatus Forcing::remove(Takeover& takeover) {
  takeover.remove();
  const std::size_t servers = settings_.servers.size();
  const lock::Tally tally = takeover.tally();
  const TakeoverResult result = lock::removed(tally, takeover.free(), servers);
  if (result == TakeoverResult::unreachable) return not_deleted(tally.taken, takeover);
  if (result != TakeoverResult::yes) return not_taken(result, takeover);
  if (!settings_.quiet) {
    driver::complain(look::may_keep(takeover.silent(), lock_.most_left, request_.name, settings_));
  }
  say(" is free" + how_free());
  return ExitStatus::ok;
}

ExitStatus Forcing::not_taken(TakeoverResult result, const Takeover& takeover) {
  if (result == TakeoverResult::gone) {
    say(" has been released meanwhile");
    return ExitStatus::ok;
  }
  if (result == TakeoverResult::changed) {
    return fail(ExitStatus::conflict,
                " has changed hands meanwhile; nothing was taken from the new holder");
  }
  return fail(
      ExitStatus::unavailable,
      fmt::format(" could be taken on {} of {} servers only, its holder may go on; try again: {}",
                  takeover.tally().taken, settings_.servers.size(), takeover.troubles()));
}

/// A server without an answer may have deleted the key all the same.
ExitStatus Forcing::not_deleted(std::size_t deleted, const Takeover& takeover) {
  const std::string known = fmt::format("known to be deleted on {} of {} servers only", deleted,
                                        settings_.servers.size());
  const std::string why = takeover.troubles();
  return fail(
      ExitStatus::unavailable,
      revoked_ && !hold_ && !unattended()
          ? fmt::format(" is revoked from {}, which stops its job, but {}: it may not be free "
                        "before that job has ended{}; try again: {}",
                        holder(), known, latest(), why)
          : fmt::format(" is {}, and may not be free; try again: {}", known, why));
}

ExitStatus Forcing::wait() {
  const auto next = wait_gone(settings_, lock_);
  if (!next) {
    return fail(ExitStatus::unavailable,
                ": too few servers answer, and it is unknown whether the job has ended");
  }
  const State state = next->judgement.state;
  say(state == State::free
          ? " is free"
          : fmt::format(" is free of its old holder, and {}", look::word_for(state)));
  return ExitStatus::ok;
}

}  // namespace

ExitStatus force_release(const cli::ForceRelease& request) {
  return Forcing(request).run();
}

}  // namespace redlock::force
