// SPDX-License-Identifier: MIT
#include "force/found.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/blocker.h"
#include "diag/text.h"

namespace redlock::force {

using lock::State;

bool is_joined(const observe::Observed& lock) {
  return std::ranges::any_of(lock.seen, [](const auto& seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    return sighting != nullptr && sighting->holds > 1;
  });
}

bool Found::unattended() const {
  return lock.holder && lock.holder->unattended && !lock.shared;
}

bool Found::stops_nothing() const {
  return unattended() || (lock.holder && lock.holder->unwarned && !lock.shared);
}

std::string Found::holder() const {
  if (lock.shared) {
    return "its " + diag::counted(lock.reader_count, lock.slots > 0 ? "holder" : "reader");
  }
  if (!lock.holder) return "its holder";
  return hold ? diag::person(*lock.holder) : diag::process(*lock.holder);
}

std::string_view Found::holders() const {
  if (lock.slots > 0) return "holders";
  return lock.shared ? "readers" : "holder";
}

std::string Found::latest() const {
  if (lock.most_left) return ", in " + diag::for_people(*lock.most_left) + " at the latest";
  return "; it has no time to live, and if its holder is dead, only --now frees it";
}

std::string Found::question(bool removes) const {
  const State state = lock.judgement.state;
  if (state == State::free) return "Delete the key that was left over?";
  if (state == State::cooling) return "Cut its minimum hold short?";
  if (state == State::foreign)
    return "Delete the key of another program, although its job goes on?";
  if (state == State::undecided) {
    return "Delete the keys shown, although jobs may be running under them?";
  }
  if (hold && is_joined(lock)) return "Stop the job of a run inside, and end the hold?";
  if (hold) return "End the maintenance hold?";
  if (stops_nothing()) {
    return removes ? "Release the lock immediately, although redlock would stop no process?"
           : unattended()
               ? "No process renews the lock, and redlock would stop no job. Revoke it anyway?"
               : "The holder's keeper would stop no process. Revoke the lock anyway?";
  }
  const std::string_view jobs = lock.slots > 0 ? "the jobs in all its slots"
                                : lock.shared  ? "the jobs of all its readers"
                                               : "its job";
  if (!removes) return fmt::format("Stop {} and release the lock?", jobs);
  return fmt::format("Release the lock immediately, although {} may still be running?", jobs);
}

std::string Found::outlook(bool notified) const {
  if (const auto late = notified ? std::nullopt : observe::overdue(lock)) {
    return fmt::format(
        "it could not be notified; {}; the lock is free when it expires{}; --now "
        "frees it immediately",
        describe(*late), latest());
  }
  if (unattended() && !notified) {
    return "redlock acquire took it without --keep-for, so no process renews it, and redlock stops "
           "no job; the lock is free when it expires" +
           latest() + "; --now frees it immediately";
  }
  std::string notices = lock.shared       ? "were notified and stop their jobs"
                        : stops_nothing() ? "was notified, and stops no process"
                                          : "was notified and stops its job";
  if (!notified) {
    notices = fmt::format("could not be notified, and will notice at {}",
                          lock.shared ? "their next renewals" : "its next renewal");
    if (lock.holder && lock.holder->ttl.count() > 0) {
      notices += ", within " + diag::for_people(lock.holder->ttl / 3);
    }
  }
  const std::string_view ended = lock.shared       ? "the jobs have"
                                 : stops_nothing() ? "its process has"
                                                   : "the job has";
  return fmt::format("the {} {}; the lock is free when {} ended{}", holders(), notices, ended,
                     latest());
}

std::string Found::how_free() const {
  const State state = lock.judgement.state;
  if (state == State::cooling) return ": its minimum hold was cut short";
  if (state == State::foreign) {
    return ": its key is deleted; the job of its old holder does not notice that, and may still be "
           "running";
  }
  if (failed) return ": its job had failed, and the hold of --hold-on-failure is over";
  if (hold) return fmt::format(": the maintenance hold of {} is over", holder());
  if (lock.shared) {
    return fmt::format(
        " now: the jobs of its {} may still be running until these notice, and for up to their "
        "graces after that",
        holders());
  }
  if (stops_nothing()) {
    return std::string(" now; redlock stopped no process: the script that took the lock finds ") +
           (unattended() ? "out at its next renew" : "that out when it releases the lock");
  }
  return " now: its old job may still be running until the holder notices, and for up to its grace "
         "after that";
}

}  // namespace redlock::force
