// SPDX-License-Identifier: MIT
//
// Redlock takes exactly the hold that it has shown: each server compares the token before it sets
// or deletes a key. If the lock changes hands in between, it stays as it is.
#include "force/force_release.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "diag/duration.h"
#include "diag/lock_name.h"
#include "diag/person.h"
#include "driver/holder_info.h"
#include "driver/output.h"
#include "force/takeover.h"
#include "force/wait_gone.h"
#include "inspect/query.h"
#include "inspect/status_block.h"
#include "lock/overloaded.h"
#include "lock/timing.h"
#include "records/holder.h"
#include "records/revocation.h"

namespace redlock::force {

namespace {

using How = cli::ForceRelease::How;
using lock::State;
using lock::TakeoverResult;

records::Revocation ourselves(const records::Holder& us) {
  using namespace std::chrono;
  return {.host = us.host,
          .user = us.user,
          .pid = us.pid,
          .since = duration_cast<milliseconds>(system_clock::now().time_since_epoch())};
}

bool has_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

/// Reads a line, and returns whether it is "y" or "yes".
bool says_yes() {
  std::array<char, 64> line{};
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) {
    std::fputc('\n', stderr);
    return false;
  }
  const std::string_view word(line.data());
  return word == "y\n" || word == "Y\n" || word == "yes\n" || word == "Yes\n" || word == "YES\n";
}

class Forcing {
 public:
  explicit Forcing(const cli::ForceRelease& request)
      : request_(request), settings_(request.settings), name_(diag::lock_name(request.name)) {}

  ExitStatus run();

 private:
  ExitStatus nothing_to_take();
  ExitStatus refuse_without_now();
  bool confirmed(std::string_view question);
  [[nodiscard]] std::string_view question() const;
  ExitStatus take_away();
  void revoke_and_log(Takeover& takeover);
  ExitStatus revoke(Takeover& takeover);
  ExitStatus remove(Takeover& takeover);
  ExitStatus not_taken(TakeoverResult result, const Takeover& takeover);
  ExitStatus not_deleted(std::size_t deleted, const Takeover& takeover);
  ExitStatus wait();
  [[nodiscard]] bool removes() const { return hold_ || request_.how == How::remove; }
  void say(const std::string& text) const;
  static void error(const std::string& text) { driver::complain({text}); }
  [[nodiscard]] std::string holder() const;
  /// `redlock acquire` took it for no process: no redlock renews it.
  [[nodiscard]] bool unattended() const;
  [[nodiscard]] std::string latest() const;

  const cli::ForceRelease& request_;
  const config::Settings& settings_;
  std::string name_;  ///< as sentences name the lock
  inspect::Observed lock_;
  bool hold_ = false;     ///< it is a maintenance hold: there is no job to wait for
  bool revoked_ = false;  ///< on so many servers that its holder has no quorum
};

std::string join(const std::vector<std::string>& troubles) {
  std::string all;
  for (const std::string& trouble : troubles) all += (all.empty() ? "" : "; ") + trouble;
  return all;
}

/// Prints for a person; -q suppresses it.
void Forcing::say(const std::string& text) const {
  if (!settings_.quiet) driver::complain({text});
}

std::string Forcing::holder() const {
  if (lock_.shared) {
    const std::size_t readers = lock_.reader_count;
    return fmt::format("its {} {}{}", readers, lock_.slots > 0 ? "holder" : "reader",
                       readers == 1 ? "" : "s");
  }
  if (!lock_.holder) return "its holder";
  if (hold_) return diag::person(lock_.holder->user, lock_.holder->host);
  return fmt::format("{} (pid {})", diag::person(lock_.holder->user, lock_.holder->host),
                     lock_.holder->pid);
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
  inspect::Query query(settings_);
  lock_ = query.look({request_.name}, redis::Observer::Marks::ignored).front();
  const bool enough = lock_.judgement.answered >= lock::quorum(settings_.servers.size());
  if (!settings_.quiet || !enough) driver::complain(query.complaints());
  if (!enough) {
    error(fmt::format("{}: {} of {} servers could be asked, and a quorum is {}; nothing was done",
                      name_, lock_.judgement.answered, settings_.servers.size(),
                      lock::quorum(settings_.servers.size())));
    return ExitStatus::unavailable;
  }
  const State state = lock_.judgement.state;
  if (state == State::free) return nothing_to_take();
  if (asks || !settings_.quiet) {
    const diag::Screen screen = driver::output_screen(settings_, STDERR_FILENO);
    std::fputs(inspect::as_block(lock_, settings_, screen).c_str(), stderr);
  }
  hold_ = lock_.holder && lock_.holder->maintenance;
  const bool others = state == State::foreign || state == State::undecided;
  if (others && !removes()) return refuse_without_now();
  const bool done_before = state == State::revoked && !removes();
  if (!done_before && asks && !confirmed(question())) {
    error("nothing was done");
    return ExitStatus::conflict;
  }
  return take_away();
}

ExitStatus Forcing::nothing_to_take() {
  say(fmt::format("{} is free, there is nothing to release", name_));
  return ExitStatus::ok;
}

ExitStatus Forcing::refuse_without_now() {
  if (lock_.judgement.state == State::foreign) {
    error(
        fmt::format("{} is held by another program, and redlock cannot stop its job: --now only "
                    "deletes the key, and that job then runs at the same time as the next one",
                    name_));
    return ExitStatus::conflict;
  }
  error(
      fmt::format("{} is undecided: no quorum of the servers agrees, perhaps the lock is changing "
                  "hands; try again, or delete exactly the keys shown, with --now",
                  name_));
  return ExitStatus::unavailable;
}

std::string_view Forcing::question() const {
  switch (lock_.judgement.state) {
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

bool Forcing::confirmed(std::string_view question) {
  std::fputs(fmt::format("{} [y/N] ", question).c_str(), stderr);
  std::fflush(stderr);
  return says_yes();
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
  takeover.revoke(ourselves(us));
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
  if (unattended() && takeover.notified() == 0) {
    say(
        fmt::format("{} {}: redlock acquire took it without --keep-for, so nobody renews it, "
                    "and redlock stops no job; the lock is free when it expires{}; --now frees it "
                    "at once",
                    name_, how, latest()));
    return request_.waits ? wait() : ExitStatus::ok;
  }
  say(fmt::format("{} {}: {}; the lock is free when {} ended{}", name_, how, notices,
                  lock_.shared ? "the jobs have" : "the job has", latest()));
  return request_.waits ? wait() : ExitStatus::ok;
}

ExitStatus Forcing::remove(Takeover& takeover) {
  takeover.remove();
  const std::size_t servers = settings_.servers.size();
  const lock::Tally tally = takeover.tally();
  const TakeoverResult result = lock::removed(tally, takeover.free(), servers);
  if (result == TakeoverResult::unreachable) return not_deleted(tally.taken, takeover);
  if (result != TakeoverResult::yes) return not_taken(result, takeover);
  switch (lock_.judgement.state) {
    case State::cooling:
      say(fmt::format("{} is free: its minimum hold was cut short", name_));
      break;
    case State::foreign:
      say(
          fmt::format("{} is free: its key is deleted; the job of its old holder does not notice "
                      "that, and may still be running",
                      name_));
      break;
    default:
      if (hold_) {
        say(fmt::format("{} is free: the maintenance hold of {} is over", name_, holder()));
        break;
      }
      if (lock_.shared) {
        say(
            fmt::format("{} is free at once: the jobs of its {} may still be running until "
                        "these notice, and for up to their graces after that",
                        name_, lock_.slots > 0 ? "holders" : "readers"));
        break;
      }
      say(unattended()
              ? fmt::format("{} is free at once; redlock stopped no process: the script that took "
                            "the lock finds out at its next renew",
                            name_)
              : fmt::format("{} is free at once: its old job may still be running until the holder "
                            "notices, and for up to its grace after that",
                            name_));
  }
  return ExitStatus::ok;
}

ExitStatus Forcing::not_taken(TakeoverResult result, const Takeover& takeover) {
  switch (result) {
    case TakeoverResult::gone:
      say(fmt::format("{} has been released meanwhile", name_));
      return ExitStatus::ok;
    case TakeoverResult::changed:
      error(fmt::format("{} has changed hands meanwhile; nothing was taken from the new holder",
                        name_));
      return ExitStatus::conflict;
    default:
      break;
  }
  error(fmt::format(
      "{} could be taken on {} of {} servers only, its holder may go on; try again: {}", name_,
      takeover.tally().taken, settings_.servers.size(), join(takeover.troubles())));
  return ExitStatus::unavailable;
}

/// A server without an answer may have deleted the key all the same.
ExitStatus Forcing::not_deleted(std::size_t deleted, const Takeover& takeover) {
  const std::string known = fmt::format("known to be deleted on {} of {} servers only", deleted,
                                        settings_.servers.size());
  const std::string why = join(takeover.troubles());
  error(revoked_ && !hold_ && !unattended()
            ? fmt::format("{} is revoked from {}, which stops its job, but {}: it may not be "
                          "free before that job has ended{}; try again: {}",
                          name_, holder(), known, latest(), why)
            : fmt::format("{} is {}, and may not be free; try again: {}", name_, known, why));
  return ExitStatus::unavailable;
}

ExitStatus Forcing::wait() {
  const auto next = wait_gone(settings_, lock_);
  if (!next) {
    error(fmt::format("{}: too few servers answer, and it is unknown whether the job has ended",
                      name_));
    return ExitStatus::unavailable;
  }
  say(next->judgement.state == State::free
          ? fmt::format("{} is free", name_)
          : fmt::format("{} is free of its old holder, and {}", name_,
                        inspect::word_for(next->judgement.state)));
  return ExitStatus::ok;
}

}  // namespace

ExitStatus force_release(const cli::ForceRelease& request) {
  return Forcing(request).run();
}

}  // namespace redlock::force
