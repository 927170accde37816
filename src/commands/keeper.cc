// SPDX-License-Identifier: MIT
#include "commands/keeper.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>
#include <variant>

#include "os/clock.h"
#include "os/detach.h"
#include "redis/audience.h"
#include "redis/keys.h"

namespace redlock::commands {

namespace {

/// A lock that is gone may have been released: word of that comes over another connection, and may
/// be later than what the servers say of the lock.
constexpr lock::Duration kWordOnItsWay = std::chrono::milliseconds(100);

}  // namespace

Keeper::Keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
               const Ward& ward, os::Fd parent, Won won)
    : session_(session),
      servers_(servers),
      signals_(signals),
      ward_(ward),
      parent_(std::move(parent)),
      won_(std::move(won)),
      began_(os::boot_now()) {}

void Keeper::keep(lock::Duration patience) {
  try {
    os::detach();
    listen(os::boot_now() + patience);
    const auto running = static_cast<char>(KeeperWord::running);
    if (::write(parent_.get(), &running, 1) != 1) ::_exit(0);
    const Parent parent = await_word();
    if (parent == Parent::says_end) ::_exit(0);
    step(lock::JobStarted{}, os::boot_now());
    log(won_.line, os::boot_now());
    if (parent == Parent::gone) give_back(os::boot_now());
    while (!session_.finished() && !over_) turn();
  } catch (const std::exception&) {
    // The machine fails under us, and there is nobody to tell but the ward.
    tell_ward();
  }
  ::_exit(0);
}

/// The connections for votes are left alone: the parent may need them yet.
void Keeper::listen(lock::Instant limit) {
  servers_.listen(won_.line.attempt, os::boot_now());
  redis::Audience& audience = servers_.audience();
  while (!audience.settled() && os::boot_now() < limit) {
    interests_.clear();
    audience.interests(interests_);
    loop_.wait(interests_, std::min(limit, audience.deadline()));
    audience.turn(os::boot_now());
  }
}

/// However long it takes: a parent that is stopped may yet have to give back the lock itself, over
/// the connections that it shares with us.
Keeper::Parent Keeper::await_word() {
  char word = 0;
  ssize_t length = -1;
  while (length < 0) {
    std::array<os::Interest, 1> interests{os::Interest{.fd = parent_.get(), .read = true}};
    loop_.wait(interests, lock::kNever);
    length = ::read(parent_.get(), &word, 1);
    if (length < 0 && errno != EAGAIN && errno != EINTR) length = 0;
  }
  parent_.reset();
  if (length == 0) return Parent::gone;
  return word == static_cast<char>(KeeperWord::go) ? Parent::says_go : Parent::says_end;
}

void Keeper::turn() {
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  // Once it is dead it would always be ready.
  interests_.push_back({.fd = giving_back_ ? -1 : ward_.process.fd(), .read = true});
  servers_.interests(interests_);
  loop_.wait(interests_, std::min({session_.deadline(), servers_.deadline(), tell_at_}));
  const lock::Instant now = os::boot_now();
  attend_ward(now);
  step(lock::Tick{}, now);
  if (interests_[0].ready) take_signals(now);
  std::vector<lock::Reply> replies = servers_.turn(now);
  take_words(now);  // that it was released explains what the servers may say
  for (lock::Reply& reply : replies) step(std::move(reply), now);
  if (now >= tell_at_) tell_ward();
}

void Keeper::take_words(lock::Instant now) {
  for (const redis::Word& word : servers_.take_words()) {
    if (word.text == redis::kReleasedWord) {
      // Giving it back, too, could take the lock from under the release that is on its way.
      told_ = over_ = true;
    } else {
      step(lock::Told{}, now);
    }
  }
}

void Keeper::step(const lock::Event& event, lock::Instant now) {
  for (const lock::Effect& effect : session_.step(event, now)) perform(effect, now);
}

void Keeper::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now);
  } else if (const auto* listen = std::get_if<lock::Listen>(&effect)) {
    servers_.listen(listen->attempt, now);
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    const auto* stopping = std::get_if<lock::report::Stopping>(report);
    if (stopping != nullptr) stopped_ = stopping->reason;
  } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
    if (line->event != lock::Log::Event::acquired) log(*line, now);  // that was said at once
  } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    // What would stop a job is word for the ward; and a KILL says that its time is over.
    if (kill->signal == SIGKILL) {
      end(now);
    } else if (stopped_ != lock::StopReason::lost) {
      tell_ward();
    } else if (tell_at_ == lock::kNever) {
      tell_at_ = now + kWordOnItsWay;
    }
  }
}

/// The lock is left to expire.
void Keeper::end(lock::Instant now) {
  tell_ward();
  over_ = true;
  if (!stopped_) return;
  lock::Log line = won_.line;
  line.event = lock::Log::Event::lost;
  line.held = now - began_;
  line.stopped = stopped_;
  log(line, now);
}

/// What the session takes for a job has no exit status.
void Keeper::log(lock::Log line, lock::Instant now) {
  line.status.reset();
  servers_.log(line, diag::word_for(line.event), to_json(diag::log_entry(line, won_.who)), now);
}

void Keeper::attend_ward(lock::Instant now) {
  if (!giving_back_ && ward_.process.gone()) give_back(now);
}

/// The job that the session thinks of is over.
void Keeper::give_back(lock::Instant now) {
  giving_back_ = true;
  step(lock::JobExited{0}, now);
  if (session_.watching_tree()) step(lock::JobTreeGone{}, now);
}

void Keeper::take_signals(lock::Instant now) {
  for (const os::ReceivedSignal& signal : signals_.take()) {
    if (signal.number == SIGCHLD || !os::ends_process_by_default(signal.number)) continue;
    attend_ward(now);
    if (giving_back_) continue;  // that takes two seconds at most
    end(now);
  }
}

void Keeper::tell_ward() {
  tell_at_ = lock::kNever;
  if (std::exchange(told_, true) || ward_.lost_signal == 0) return;
  ward_.process.signal(ward_.lost_signal);
}

}  // namespace redlock::commands
