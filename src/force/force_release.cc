// SPDX-License-Identifier: MIT
//
// What is taken away is exactly what was shown: each server compares before it sets or deletes. A
// lock that changes hands between the look and the deed stays as it is.
#include "force/force_release.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "diag/duration.h"
#include "diag/text.h"
#include "driver/holder_info.h"
#include "driver/output.h"
#include "force/takeover.h"
#include "force/wait_gone.h"
#include "inspect/query.h"
#include "inspect/status_block.h"
#include "lock/overloaded.h"
#include "lock/timing.h"

namespace redlock::force {

namespace {

using How = cli::ForceRelease::How;
using lock::State;
using lock::TakeoverResult;

constexpr std::size_t kMostOfName = 300;

int number(ExitStatus status) {
  return static_cast<int>(status);
}

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

/// A line of "y" or "yes".
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
      : request_(request),
        settings_(request.settings),
        name_(diag::printable(request.name, kMostOfName)) {}

  int run();

 private:
  int nothing_to_take();
  int refuse_without_now();
  bool confirmed(std::string_view question);
  [[nodiscard]] std::string_view question() const;
  int take_away();
  void revoke_and_log(Takeover& takeover);
  int revoke(Takeover& takeover);
  int remove(Takeover& takeover);
  int not_taken(TakeoverResult result, const Takeover& takeover);
  int not_deleted(std::size_t deleted, const Takeover& takeover);
  int wait();
  void say(const std::string& text) const;
  static void error(const std::string& text) { driver::complain({text}); }
  [[nodiscard]] std::string holder() const;
  [[nodiscard]] std::string latest() const;

  const cli::ForceRelease& request_;
  const config::Settings& settings_;
  std::string name_;
  inspect::Observed lock_;
  bool revoked_ = false;  ///< on as many servers as its holder cannot do without
};

std::string join(const std::vector<std::string>& troubles) {
  std::string all;
  for (const std::string& trouble : troubles) all += (all.empty() ? "" : "; ") + trouble;
  return all;
}

/// What a person wants to hear, and -q silences.
void Forcing::say(const std::string& text) const {
  if (!settings_.quiet) driver::complain({text});
}

std::string Forcing::holder() const {
  if (!lock_.holder) return "its holder";
  return fmt::format("{}@{} (pid {})", diag::printable(lock_.holder->user, 64),
                     diag::printable(lock_.holder->host, 64), lock_.holder->pid);
}

std::string Forcing::latest() const {
  return lock_.most_left ? fmt::format(", in {} at the latest", diag::for_people(*lock_.most_left))
                         : std::string(
                               "; it has no time to live, and if its holder is dead, only "
                               "--now frees it");
}

int Forcing::run() {
  const bool asks = !request_.confirmed;
  if (asks && !has_terminal()) {
    throw Error(ExitStatus::usage,
                "release --force asks before it stops a job, and there is no terminal to ask on; "
                "--yes does without");
  }
  inspect::Query query(settings_);
  lock_ = query.look({request_.name}, redis::Observer::Marks::ignored).front();
  const bool enough = lock_.judgement.answered >= lock::quorum(settings_.servers.size());
  if (!settings_.quiet || !enough) driver::complain(query.complaints());
  if (!enough) {
    error(fmt::format("{}: {} of {} servers could be asked, and a quorum is {}; nothing was done",
                      name_, lock_.judgement.answered, settings_.servers.size(),
                      lock::quorum(settings_.servers.size())));
    return number(ExitStatus::unavailable);
  }
  const State state = lock_.judgement.state;
  if (state == State::free) return nothing_to_take();
  if (asks || !settings_.quiet) {
    std::fputs(inspect::as_block(lock_, settings_, driver::output_width(STDERR_FILENO)).c_str(),
               stderr);
  }
  const bool others = state == State::foreign || state == State::undecided;
  if (others && request_.how != How::remove) return refuse_without_now();
  const bool done_before = state == State::revoked && request_.how == How::revoke;
  if (!done_before && asks && !confirmed(question())) {
    error("nothing was done");
    return number(ExitStatus::conflict);
  }
  return take_away();
}

int Forcing::nothing_to_take() {
  say(fmt::format("{} is free, there is nothing to release", name_));
  return number(ExitStatus::ok);
}

int Forcing::refuse_without_now() {
  if (lock_.judgement.state == State::foreign) {
    error(
        fmt::format("{} is held by another program, which cannot be told to stop: its key can only "
                    "be deleted, with --now, and then its job goes on beside the next one's",
                    name_));
    return number(ExitStatus::conflict);
  }
  error(
      fmt::format("{} is undecided: no quorum of the servers says the same, it may just change "
                  "hands; ask again, or delete exactly what is shown, with --now",
                  name_));
  return number(ExitStatus::unavailable);
}

std::string_view Forcing::question() const {
  switch (lock_.judgement.state) {
    case State::cooling:
      return "Cut its minimum hold short?";
    case State::foreign:
      return "Delete the key of another program, whose job goes on and does not know?";
    case State::undecided:
      return "Delete what the servers have, although jobs may be running under it?";
    default:
      break;
  }
  return request_.how == How::remove
             ? "Release the lock at once, although its job may still be running?"
             : "Stop its job and release the lock?";
}

bool Forcing::confirmed(std::string_view question) {
  std::fputs(fmt::format("{} [y/N] ", question).c_str(), stderr);
  std::fflush(stderr);
  return says_yes();
}

int Forcing::take_away() {
  Takeover takeover(settings_, lock_);
  const State state = lock_.judgement.state;
  if (state == State::held || state == State::revoked) return revoke(takeover);
  // Who holds one of the leftovers shall know, and not put it back.
  if (state == State::undecided) revoke_and_log(takeover);
  return remove(takeover);
}

void Forcing::revoke_and_log(Takeover& takeover) {
  const records::Holder us =
      driver::describe_ourselves(settings_, {"redlock", "release", "--force", request_.name});
  takeover.revoke(ourselves(us));
  if (lock_.judgement.state == State::revoked) return;  // somebody else's deed
  records::LogEntry entry;
  entry.who = us;
  takeover.log(entry);
}

int Forcing::revoke(Takeover& takeover) {
  const bool before = lock_.judgement.state == State::revoked;
  revoke_and_log(takeover);
  const lock::Tally tally = takeover.tally();
  const std::size_t servers = settings_.servers.size();
  const TakeoverResult result = lock::revoked(tally, servers);
  if (result != TakeoverResult::yes) return not_taken(result, takeover);
  revoked_ = true;
  if (request_.how == How::remove) {
    if (tally.taken + tally.gone >= lock::quorum(servers)) return remove(takeover);
    // The others would still be a quorum for the holder.
    return not_deleted(0, takeover);
  }
  const std::string how = before ? "had been revoked before" : "is revoked from " + holder();
  std::string notices = "it was told and stops its job";
  if (takeover.told() == 0) {
    notices = "nobody listened, and it will see it with its next renewal";
    if (lock_.holder && lock_.holder->ttl.count() > 0) {
      notices += ", within " + diag::for_people(lock_.holder->ttl / 3);
    }
  }
  say(fmt::format("{} {}: {}; the lock is free when that is gone{}", name_, how, notices,
                  latest()));
  return request_.waits ? wait() : number(ExitStatus::ok);
}

int Forcing::remove(Takeover& takeover) {
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
      say(fmt::format(
          "{} is free: its key is deleted; the job of whoever had it does not know, and "
          "may still be running",
          name_));
      break;
    default:
      say(fmt::format(
          "{} is free at once: its old job may still be running until it has been told, "
          "and for up to its grace after that",
          name_));
  }
  return number(ExitStatus::ok);
}

int Forcing::not_taken(TakeoverResult result, const Takeover& takeover) {
  switch (result) {
    case TakeoverResult::gone:
      say(fmt::format("{} has been released meanwhile", name_));
      return number(ExitStatus::ok);
    case TakeoverResult::changed:
      error(fmt::format("{} has changed hands meanwhile; nothing was taken from whoever has it now",
                        name_));
      return number(ExitStatus::conflict);
    default:
      break;
  }
  error(fmt::format(
      "{} could be taken on {} of {} servers only, its holder may go on; try again: {}", name_,
      takeover.tally().taken, settings_.servers.size(), join(takeover.troubles())));
  return number(ExitStatus::unavailable);
}

/// A server that gave no answer may have deleted it all the same.
int Forcing::not_deleted(std::size_t deleted, const Takeover& takeover) {
  const std::string known = fmt::format("known to be deleted on {} of {} servers only", deleted,
                                        settings_.servers.size());
  const std::string why = join(takeover.troubles());
  error(revoked_
            ? fmt::format("{} is revoked from {}, which stops its job, but {}: it may not be free "
                          "before that is gone{}; try again: {}",
                          name_, holder(), known, latest(), why)
            : fmt::format("{} is {}, and may not be free; try again: {}", name_, known, why));
  return number(ExitStatus::unavailable);
}

int Forcing::wait() {
  const std::string token(lock::owner_of(*lock_.sighting));
  const auto next = wait_gone(settings_, request_.name, token, lock_.most_left);
  if (!next) {
    error(fmt::format("{}: too few servers answer, it cannot be told whether the job is gone",
                      name_));
    return number(ExitStatus::unavailable);
  }
  say(next->judgement.state == State::free
          ? fmt::format("{} is free", name_)
          : fmt::format("{} is free of its old holder, and {}", name_,
                        inspect::word_for(next->judgement.state)));
  return number(ExitStatus::ok);
}

}  // namespace

int force_release(const cli::ForceRelease& request) {
  return Forcing(request).run();
}

}  // namespace redlock::force
