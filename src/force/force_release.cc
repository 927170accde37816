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
#include "diag/text.h"
#include "driver/output.h"
#include "force/found.h"
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
    found_.lock = query.look({request_.name}).front();
    const bool enough = found_.lock.knows_enough();
    if (!settings_.quiet || !enough) driver::complain(query.complaints());
    if (!enough) {
      return fail(ExitStatus::unavailable,
                  ": " +
                      observe::too_few(found_.lock.judgement.answered, settings_.servers.size()) +
                      "; nothing was done");
    }
    const State state = found_.lock.judgement.state;
    const bool left_over = state == State::free && !observe::left_overs(found_.lock).empty();
    if (state == State::free && !left_over) {
      refuse_pattern(request_.name, settings_);
      say(cli::is_pattern(request_.name)
              ? " is free, there is nothing to release (release takes an exact name, no pattern)"
              : " is free, there is nothing to release");
      return ExitStatus::ok;
    }
    if (asks || !settings_.quiet) {
      const diag::Screen screen = driver::output_screen(settings_, STDERR_FILENO);
      std::fputs(observe::as_block(found_.lock, settings_, screen).c_str(), stderr);
    }
    found_.hold = found_.lock.holder && found_.lock.holder->maintenance;
    const bool others = state == State::foreign || state == State::undecided;
    if (others && !removes()) return refuse_without_now();
    const bool redisson = std::ranges::any_of(found_.lock.seen, [](const auto& seen) {
      const auto* sighting = std::get_if<lock::Sighting>(&seen);
      return sighting != nullptr && !sighting->owner.empty();
    });
    if (redisson && settings_.as != config::As::redisson && !settings_.quiet) {
      say(" is a lock of Redisson's: without --as redisson, its waiters are not notified, and a "
          "string under this name would let other locks of the same Java process expire");
    }
    const bool done_before = state == State::revoked && !removes();
    if (!done_before && asks && !confirmed(found_.question(removes()))) {
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

  /// A quorum has no such key, so nobody has the lock by these keys. But a run that is taking the
  /// lock may have just got one server's vote: within two seconds such a key goes, or gets a
  /// quorum. The key of another program needs --now, as always.
  ExitStatus remove_left_overs() {
    constexpr lock::Duration kSettled = std::chrono::seconds(2);
    const std::vector<std::size_t> servers = observe::left_overs(found_.lock);
    const auto shown = [&](const observe::Observed& lock) {
      std::vector<std::string> values;
      for (const std::size_t server : servers) {
        const auto* seen = std::get_if<lock::Sighting>(&lock.seen[server]);
        values.push_back(seen == nullptr ? std::string() : seen->value);
      }
      return values;
    };
    const bool foreign = std::ranges::any_of(servers, [&](std::size_t server) {
      return lock::state_of(std::get<lock::Sighting>(found_.lock.seen[server])) == State::foreign;
    });
    if (foreign && !removes()) {
      return fail(ExitStatus::conflict,
                  " is free, but one server has a key of another program: --now deletes it");
    }
    const std::vector<std::string> before = shown(found_.lock);
    rest(kSettled);
    found_.lock = observe::look_at(request_.name, settings_);
    const bool gone = std::ranges::all_of(servers, [&](std::size_t server) {
      const auto* seen = std::get_if<lock::Sighting>(&found_.lock.seen[server]);
      return seen != nullptr && lock::state_of(*seen) == State::free;
    });
    if (found_.lock.judgement.state == State::free && gone) {
      say(" is free, and no key is left over any more");
      return ExitStatus::ok;
    }
    const bool same = observe::left_overs(found_.lock) == servers && shown(found_.lock) == before;
    if (!same || found_.lock.judgement.state != State::free) {
      return fail(ExitStatus::conflict, " has changed since; nothing was deleted, try again");
    }
    Takeover takeover(settings_, found_.lock);
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
    if (found_.lock.judgement.state == State::foreign) {
      return fail(ExitStatus::conflict,
                  " is held by another program, and redlock cannot stop its job: --now only "
                  "deletes the key, and that job then runs at the same time as the next one");
    }
    return fail(ExitStatus::unavailable,
                " is undecided: no quorum of the servers agrees, the lock may be changing hands; "
                "try again, or delete exactly the keys shown, with --now");
  }

  ExitStatus take_away() {
    Takeover takeover(settings_, found_.lock);
    const State state = found_.lock.judgement.state;
    if (state == State::held || state == State::revoked) return revoke(takeover);
    // Tells the holder of such a key, who otherwise learns of the release when it renews next.
    if (state == State::undecided) revoke_and_log(takeover);
    return remove(takeover);
  }

  void revoke_and_log(Takeover& takeover) {
    const records::Holder us =
        driver::describe_ourselves(settings_, {"redlock", "release", "--force", request_.name});
    takeover.revoke(records::since_now(us));
    // Whoever revoked it before has logged that.
    if (found_.lock.judgement.state == State::revoked) return;
    records::LogEntry entry;
    entry.who = us;
    takeover.log(entry);
  }

  ExitStatus revoke(Takeover& takeover) {
    const bool before = found_.lock.judgement.state == State::revoked;
    revoke_and_log(takeover);
    const lock::Tally tally = takeover.tally();
    const std::size_t servers = settings_.servers.size();
    const TakeoverResult result = lock::revoked(tally, servers);
    if (result != TakeoverResult::yes) return not_taken(result, takeover);
    revoked_ = true;
    if (!removes() && has_failed_since()) return take_away();
    if (removes()) {
      if (found_.hold && !request_.now && !await_joined()) return too_few_to_tell();
      if (tally.taken + tally.gone >= lock::quorum(servers)) return remove(takeover);
      // The other servers would still be a quorum for the holder.
      return not_deleted(0, takeover);
    }
    say((before ? " had been revoked before" : " is revoked from " + found_.holder()) + ": " +
        found_.outlook(takeover.notified() > 0));
    return request_.wait_gone ? wait() : ExitStatus::ok;
  }

  /// Whether the run failed after we looked, with --hold-on-failure, and before the revocation: its
  /// lock is a maintenance hold now, which nobody would give up.
  bool has_failed_since() {
    observe::Observed next = observe::look_at(request_.name, settings_);
    const bool held = next.judgement.state == State::revoked && !is_gone(next, found_.lock);
    found_.hold = found_.failed = held && next.holder && next.holder->maintenance;
    if (found_.failed) found_.lock = std::move(next);
    return found_.failed;
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
          observe::may_keep(takeover.silent(), found_.lock.most_left, request_.name, settings_));
    }
    say(" is free" + found_.how_free());
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
        revoked_ && !found_.hold && !found_.stops_nothing()
            ? fmt::format(" is revoked from {}, which stops its job, but {}: it may not be free "
                          "before that job has ended{}; try again: {}",
                          found_.holder(), known, found_.latest(), why)
            : fmt::format(" is {}, and may not be free; try again: {}", known, why));
  }

  /// A run inside the one that failed may still have its job. It has been told to stop that.
  [[nodiscard]] bool await_joined() const {
    if (!is_joined(found_.lock)) return true;
    say(" is revoked: a run inside the one that failed still holds it, and stops its job first");
    return look_until([](const auto& next) { return next.knows_enough() && !is_joined(next); })
        .has_value();
  }

  ExitStatus wait() const {
    const auto next = look_until([this](const auto& each) { return is_gone(each, found_.lock); });
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
    const lock::Instant limit = wait_limit(found_.lock, os::boot_now());
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

  [[nodiscard]] bool removes() const { return found_.hold || request_.now; }

  const cli::ForceRelease& request_;
  const config::Settings& settings_;
  std::string name_;  ///< as sentences name the lock
  Found found_;
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
