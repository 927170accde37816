// SPDX-License-Identifier: MIT
//
// Redlock takes exactly the hold that it has shown: each server compares the token before it sets
// or deletes a key. If the lock changes hands in between, it stays as it is.
#include "force/force_release.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "config/value.h"
#include "diag/blocker.h"
#include "diag/text.h"
#include "driver/output.h"
#include "lock/value.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::force {

namespace {

using lock::State;
using lock::TakeoverResult;
using std::chrono::milliseconds;

void rest(lock::Duration pause) {
  os::Loop().wait({}, os::boot_now() + pause);
}

/// Whether a quorum does not show the holder of `before` any more.
bool is_gone(const observe::Observed& lock, const observe::Observed& before) {
  const std::string_view token = lock::owner_of(*before.sighting);
  std::size_t gone = 0;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    const auto* earlier = std::get_if<lock::Sighting>(&before.seen[server]);
    if (sighting == nullptr) continue;
    const std::string_view owner = lock::owner_of(*sighting);
    // Of readers, each server may have another generation.
    const bool same = lock::is_shared(token) ? earlier != nullptr && !owner.empty() &&
                                                   owner == lock::owner_of(*earlier)
                                             : owner == token;
    gone += same ? 0 : 1;
  }
  return gone >= lock::quorum(lock.seen.size());
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

/// Whether a run inside the holder's job holds the lock, too.
bool is_joined(const observe::Observed& lock) {
  return std::ranges::any_of(lock.seen, [](const auto& seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    return sighting != nullptr && sighting->holds > 1;
  });
}

/// Throws if `pattern`, a name that no lock has, looks like a pattern, and matches other locks.
void refuse_pattern(const std::string& pattern, const config::Settings& settings) {
  constexpr std::size_t kMost = 10;
  if (!cli::is_pattern(pattern)) return;
  std::vector<std::string> names = observe::Query(settings).names("holder", pattern);
  if (names.empty()) return;
  const std::size_t more = names.size() - std::min(names.size(), kMost);
  names.resize(names.size() - more);
  std::ranges::transform(names, names.begin(), config::quote);
  throw Error(
      ExitStatus::usage,
      fmt::format("release takes the exact name of one lock, and {} looks like a pattern; it "
                  "matches {}{}",
                  config::quote(pattern), fmt::join(names, ", "),
                  more > 0 ? fmt::format(" and {} more", more) : ""));
}

class Forcing {
 public:
  explicit Forcing(const cli::ForceRelease& request)
      : request_(request), settings_(request.settings), name_(diag::lock_name(request.name)) {}

  ExitStatus run() {
    const bool asks = !request_.yes;
    if (asks && (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1)) {
      throw Error(ExitStatus::usage,
                  "release --force asks before it stops a job, and there is no terminal to ask on; "
                  "--yes skips the question");
    }
    observe::Query query(settings_);
    lock_ = query.look({request_.name}).front();
    const bool enough = lock_.knows_enough();
    if (!settings_.quiet || !enough) driver::complain(query.complaints());
    if (!enough) {
      return fail(ExitStatus::unavailable,
                  ": " + observe::too_few(lock_.judgement.answered, settings_.servers.size()) +
                      "; nothing was done");
    }
    const State state = lock_.judgement.state;
    const bool left_over = state == State::free && !observe::left_overs(lock_).empty();
    if (state == State::free && !left_over) {
      refuse_pattern(request_.name, settings_);
      say(cli::is_pattern(request_.name)
              ? " is free, there is nothing to release (release takes an exact name, no pattern)"
              : " is free, there is nothing to release");
      return ExitStatus::ok;
    }
    if (asks || !settings_.quiet) {
      const diag::Screen screen = driver::output_screen(settings_, STDERR_FILENO);
      std::fputs(observe::as_block(lock_, settings_, screen).c_str(), stderr);
    }
    hold_ = lock_.holder && lock_.holder->maintenance;
    const bool others = state == State::foreign || state == State::undecided;
    if (others && !removes()) return refuse_without_now();
    const bool redisson = std::ranges::any_of(lock_.seen, [](const auto& seen) {
      const auto* sighting = std::get_if<lock::Sighting>(&seen);
      return sighting != nullptr && !sighting->owner.empty();
    });
    if (redisson && settings_.as != config::As::redisson && !settings_.quiet) {
      say(" is a lock of Redisson's: without --as redisson, its waiters are not notified, and a "
          "string under this name would let other locks of the same Java process expire");
    }
    const bool done_before = state == State::revoked && !removes();
    if (!done_before && asks && !confirmed(question())) {
      driver::complain({"nothing was done"});
      return ExitStatus::conflict;
    }
    return left_over ? remove_left_overs() : take_away();
  }

 private:
  /// A message about the lock begins with its name.
  void say(const std::string& what) const {
    if (!settings_.quiet) driver::complain({name_ + what});
  }

  ExitStatus fail(ExitStatus status, const std::string& what) const {
    driver::complain({name_ + what});
    return status;
  }

  [[nodiscard]] std::string_view jobs() const {
    if (lock_.slots > 0) return "the jobs in all its slots";
    return lock_.shared ? "the jobs of all its readers" : "its job";
  }

  [[nodiscard]] std::string_view holders() const {
    if (lock_.slots > 0) return "holders";
    return lock_.shared ? "readers" : "holder";
  }

  [[nodiscard]] std::string holder() const {
    if (lock_.shared) {
      return "its " + diag::counted(lock_.reader_count, lock_.slots > 0 ? "holder" : "reader");
    }
    if (!lock_.holder) return "its holder";
    return hold_ ? diag::person(*lock_.holder) : diag::process(*lock_.holder);
  }

  /// `redlock acquire` took it without --keep-for: no redlock renews it.
  [[nodiscard]] bool unattended() const {
    return lock_.holder && lock_.holder->unattended && !lock_.shared;
  }

  /// A process has it that redlock neither stops nor warns.
  [[nodiscard]] bool stops_nothing() const {
    return unattended() || (lock_.holder && lock_.holder->unwarned && !lock_.shared);
  }

  [[nodiscard]] std::string latest() const {
    if (lock_.most_left) return ", in " + diag::for_people(*lock_.most_left) + " at the latest";
    return "; it has no time to live, and if its holder is dead, only --now frees it";
  }

  /// A quorum has no such key, so nobody has the lock by these keys. But a run that is taking the
  /// lock may have just got one server's vote: within two seconds such a key goes, or gets a
  /// quorum. The key of another program needs --now, as always.
  ExitStatus remove_left_overs() {
    constexpr lock::Duration kSettled = std::chrono::seconds(2);
    const std::vector<std::size_t> servers = observe::left_overs(lock_);
    const auto shown = [&](const observe::Observed& lock) {
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
    rest(kSettled);
    lock_ = observe::look_at(request_.name, settings_);
    const bool same = observe::left_overs(lock_) == servers && shown(lock_) == before;
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

  ExitStatus refuse_without_now() {
    if (lock_.judgement.state == State::foreign) {
      return fail(ExitStatus::conflict,
                  " is held by another program, and redlock cannot stop its job: --now only "
                  "deletes the key, and that job then runs at the same time as the next one");
    }
    return fail(ExitStatus::unavailable,
                " is undecided: no quorum of the servers agrees, the lock may be changing hands; "
                "try again, or delete exactly the keys shown, with --now");
  }

  [[nodiscard]] std::string question() const {
    const State state = lock_.judgement.state;
    if (state == State::free) return "Delete the key that was left over?";
    if (state == State::cooling) return "Cut its minimum hold short?";
    if (state == State::foreign) {
      return "Delete the key of another program, although its job goes on?";
    }
    if (state == State::undecided) {
      return "Delete the keys shown, although jobs may be running under them?";
    }
    if (hold_ && is_joined(lock_)) return "Stop the job of a run inside, and end the hold?";
    if (hold_) return "End the maintenance hold?";
    if (stops_nothing()) {
      return removes() ? "Release the lock immediately, although redlock would stop no process?"
             : unattended()
                 ? "No process renews the lock, and redlock would stop no job. Revoke it anyway?"
                 : "The holder's keeper would stop no process. Revoke the lock anyway?";
    }
    if (!removes()) return fmt::format("Stop {} and release the lock?", jobs());
    return fmt::format("Release the lock immediately, although {} may still be running?", jobs());
  }

  ExitStatus take_away() {
    Takeover takeover(settings_, lock_);
    const State state = lock_.judgement.state;
    if (state == State::held || state == State::revoked) return revoke(takeover);
    // The holder of such a key must notice, and must not put the key back.
    if (state == State::undecided) revoke_and_log(takeover);
    return remove(takeover);
  }

  void revoke_and_log(Takeover& takeover) {
    const records::Holder us =
        driver::describe_ourselves(settings_, {"redlock", "release", "--force", request_.name});
    takeover.revoke(records::since_now(us));
    // Whoever revoked it before has logged that.
    if (lock_.judgement.state == State::revoked) return;
    records::LogEntry entry;
    entry.who = us;
    takeover.log(entry);
  }

  ExitStatus revoke(Takeover& takeover) {
    const bool before = lock_.judgement.state == State::revoked;
    revoke_and_log(takeover);
    const lock::Tally tally = takeover.tally();
    const std::size_t servers = settings_.servers.size();
    const TakeoverResult result = lock::revoked(tally, servers);
    if (result != TakeoverResult::yes) return not_taken(result, takeover);
    revoked_ = true;
    if (!removes() && has_failed_since()) return take_away();
    if (removes()) {
      if (hold_ && !request_.now && !await_joined()) return too_few_to_tell();
      if (tally.taken + tally.gone >= lock::quorum(servers)) return remove(takeover);
      // The other servers would still be a quorum for the holder.
      return not_deleted(0, takeover);
    }
    const std::string how = before ? "had been revoked before" : "is revoked from " + holder();
    if (const auto late = takeover.notified() == 0 ? observe::overdue(lock_) : std::nullopt) {
      say(
          fmt::format(" {}: it could not be notified; {}; the lock is free when it expires{}; "
                      "--now frees it immediately",
                      how, describe(*late), latest()));
      return request_.wait_gone ? wait() : ExitStatus::ok;
    }
    std::string notices = lock_.shared      ? "were notified and stop their jobs"
                          : stops_nothing() ? "was notified, and stops no process"
                                            : "was notified and stops its job";
    if (takeover.notified() == 0) {
      notices = fmt::format("could not be notified, and will notice at {}",
                            lock_.shared ? "their next renewals" : "its next renewal");
      if (lock_.holder && lock_.holder->ttl.count() > 0) {
        notices += ", within " + diag::for_people(lock_.holder->ttl / 3);
      }
    }
    say(unattended() && takeover.notified() == 0
            ? fmt::format(" {}: redlock acquire took it without --keep-for, so no process renews "
                          "it, and redlock stops no job; the lock is free when it expires{}; --now "
                          "frees it immediately",
                          how, latest())
            : fmt::format(" {}: the {} {}; the lock is free when {} ended{}", how, holders(),
                          notices,
                          lock_.shared      ? "the jobs have"
                          : stops_nothing() ? "its process has"
                                            : "the job has",
                          latest()));
    return request_.wait_gone ? wait() : ExitStatus::ok;
  }

  /// Whether the run failed after we looked, with --hold-on-failure, and before the revocation: its
  /// lock is a maintenance hold now, which nobody would give up.
  bool has_failed_since() {
    observe::Observed next = observe::look_at(request_.name, settings_);
    const bool held = next.judgement.state == State::revoked && !is_gone(next, lock_);
    hold_ = failed_ = held && next.holder && next.holder->maintenance;
    if (failed_) lock_ = std::move(next);
    return failed_;
  }

  /// What a user who takes the lock now has to know.
  [[nodiscard]] std::string how_free() const {
    const State state = lock_.judgement.state;
    if (state == State::cooling) return ": its minimum hold was cut short";
    if (state == State::foreign) {
      return ": its key is deleted; the job of its old holder does not notice that, and may "
             "still be running";
    }
    if (failed_) return ": its job had failed, and the hold of --hold-on-failure is over";
    if (hold_) return fmt::format(": the maintenance hold of {} is over", holder());
    if (lock_.shared) {
      return fmt::format(
          " now: the jobs of its {} may still be running until these notice, and for up to their "
          "graces after that",
          holders());
    }
    if (stops_nothing()) {
      return std::string(" now; redlock stopped no process: the script that took the lock finds ") +
             (unattended() ? "out at its next renew" : "that out when it releases the lock");
    }
    return " now: its old job may still be running until the holder notices, and for up to its "
           "grace after that";
  }

  ExitStatus remove(Takeover& takeover) {
    takeover.remove();
    const std::size_t servers = settings_.servers.size();
    const lock::Tally tally = takeover.tally();
    const TakeoverResult result = lock::removed(tally, takeover.free(), servers);
    if (result == TakeoverResult::unreachable) return not_deleted(tally.taken, takeover);
    if (result != TakeoverResult::yes) return not_taken(result, takeover);
    if (!settings_.quiet) {
      driver::complain(
          observe::may_keep(takeover.silent(), lock_.most_left, request_.name, settings_));
    }
    say(" is free" + how_free());
    return ExitStatus::ok;
  }

  ExitStatus not_taken(TakeoverResult result, const Takeover& takeover) {
    if (result == TakeoverResult::gone) {
      say(" has been released since then");
      return ExitStatus::ok;
    }
    if (result == TakeoverResult::changed) {
      return fail(ExitStatus::conflict,
                  " has changed hands since then; nothing was taken from the new holder");
    }
    return fail(
        ExitStatus::unavailable,
        fmt::format(" could be taken on {} of {} servers only, its holder may go on; try again: {}",
                    takeover.tally().taken, settings_.servers.size(), takeover.troubles()));
  }

  /// A server that did not answer may still have deleted the key.
  ExitStatus not_deleted(std::size_t deleted, const Takeover& takeover) {
    const std::string known = fmt::format("known to be deleted on {} of {} servers only", deleted,
                                          settings_.servers.size());
    const std::string why = takeover.troubles();
    return fail(
        ExitStatus::unavailable,
        revoked_ && !hold_ && !stops_nothing()
            ? fmt::format(" is revoked from {}, which stops its job, but {}: it may not be free "
                          "before that job has ended{}; try again: {}",
                          holder(), known, latest(), why)
            : fmt::format(" is {}, and may not be free; try again: {}", known, why));
  }

  /// A run inside the one that failed may still have its job. It has been told to stop that.
  [[nodiscard]] bool await_joined() const {
    if (!is_joined(lock_)) return true;
    say(" is revoked: a run inside the one that failed still holds it, and stops its job first");
    return look_until([](const auto& next) { return next.knows_enough() && !is_joined(next); })
        .has_value();
  }

  ExitStatus wait() const {
    const auto next = look_until([this](const auto& each) { return is_gone(each, lock_); });
    if (!next) return too_few_to_tell();
    const State state = next->judgement.state;
    say(state == State::free ? " is free"
                             : fmt::format(" is free of its old holder, and {}",
                                           observe::appearance_of(state).word));
    return ExitStatus::ok;
  }

  /// Looks again and again. None at wait_limit(): too few servers answer.
  template <class Over>
  std::optional<observe::Observed> look_until(Over is_over) const {
    constexpr lock::Duration kLongestPause = milliseconds(500);
    const lock::Instant limit = wait_limit(lock_, os::boot_now());
    for (lock::Duration pause = milliseconds(50);; pause = std::min(pause * 2, kLongestPause)) {
      observe::Observed next = observe::look_at(request_.name, settings_);
      if (is_over(next)) return next;
      if (os::boot_now() >= limit) return std::nullopt;
      rest(pause);
    }
  }

  ExitStatus too_few_to_tell() const {
    return fail(ExitStatus::unavailable,
                ": too few servers answer, and it is unknown whether the job has ended");
  }

  [[nodiscard]] bool removes() const { return hold_ || request_.now; }

  const cli::ForceRelease& request_;
  const config::Settings& settings_;
  std::string name_;  ///< as sentences name the lock
  observe::Observed lock_;
  bool hold_ = false;     ///< it is a maintenance hold, of which only a run inside has a job
  bool failed_ = false;   ///< it became one after we had looked
  bool revoked_ = false;  ///< on enough servers: its holder has no quorum
};

}  // namespace

lock::Instant wait_limit(const observe::Observed& seen, lock::Instant now) {
  constexpr lock::Duration kPatience = std::chrono::seconds(10);
  return seen.most_left ? now + *seen.most_left + kPatience : lock::kNever;
}

ExitStatus carry_out(const cli::ForceRelease& request) {
  return Forcing(request).run();
}

}  // namespace redlock::force
