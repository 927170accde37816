// SPDX-License-Identifier: MIT
#include "hold/keeper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "os/clock.h"
#include "os/detach.h"
#include "os/fail.h"
#include "redis/audience.h"
#include "redis/keys.h"

namespace redlock::hold {

KeeperReserve::KeeperReserve() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    os::fail("socketpair");
  }
  ours = os::Fd(ends[0]);
  keepers = os::Fd(ends[1]);
}

Keeper::Keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
               const Ward& ward, os::Fd parent, os::Loop loop, Won won)
    : servers_(servers),
      signals_(signals),
      ward_(ward),
      parent_(std::move(parent)),
      won_(std::move(won)),
      custody_(session, servers.size(), won_.line),
      loop_(std::move(loop)) {}

void Keeper::keep(lock::Duration patience, driver::Rescue& rescue) {
  std::optional<Parent> parent;
  try {
    os::detach();
    listen(os::boot_now() + patience);
    const auto running = static_cast<char>(KeeperWord::running);
    if (::write(parent_.get(), &running, 1) != 1) ::_exit(0);
    parent = await_word();
    if (parent == Parent::says_end) ::_exit(0);
    const lock::Instant now = os::boot_now();
    perform(custody_.step(lock::JobStarted{}, now), now);
    if (parent == Parent::gone) perform(custody_.step(lock::JobExited{0}, now), now);
    while (!custody_.finished()) turn();
  } catch (const std::exception&) {
    // The machine fails under us. A parent that waits for word sees our death, and gives the lock
    // back. A token that is known must not be released while the ward lives, who is told.
    if (parent == Parent::gone) rescue.give_back(servers_, loop_, patience);
    if (parent == Parent::says_go) tell_ward();
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
/// the connections that it shares with us. By now it counts on us: this needs nothing of the
/// system.
Keeper::Parent Keeper::await_word() noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
  char word = 0;
  ssize_t length = -1;
  while (length < 0) {
    pollfd line{parent_.get(), POLLIN, 0};
    if (::poll(&line, 1, -1) > 0) length = ::read(parent_.get(), &word, 1);
    if (length < 0 && errno == ECONNRESET) length = 0;
    if (length < 0) ::nanosleep(&kPause, nullptr);
  }
  parent_.reset();
  if (length == 0) return Parent::gone;
  return word == static_cast<char>(KeeperWord::go) ? Parent::says_go : Parent::says_end;
}

void Keeper::turn() {
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  // Once it is dead it would always be ready.
  interests_.push_back({.fd = ward_gone_ ? -1 : ward_.process.fd(), .read = true});
  servers_.interests(interests_);
  loop_.wait(interests_, std::min(custody_.deadline(), servers_.deadline()));
  const lock::Instant now = os::boot_now();
  ward_gone_ = ward_gone_ || ward_.process.gone();
  if (ward_gone_) perform(custody_.step(lock::JobExited{0}, now), now);
  perform(custody_.step(lock::Tick{}, now), now);
  if (interests_[0].ready) take_signals(now);
  for (lock::Reply& reply : servers_.turn(now)) perform(custody_.step(std::move(reply), now), now);
  take_words(now);
  if (custody_.warns()) tell_ward();
}

void Keeper::take_words(lock::Instant now) {
  for (const redis::Word& word : servers_.take_words()) {
    const bool released = word.text == redis::kReleasedWord;
    perform(custody_.step(lock::Told{.released = released}, now), now);
  }
}

void Keeper::perform(const lock::Effects& effects, lock::Instant now) {
  for (const lock::Effect& effect : effects) {
    if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
      servers_.ask(*ask, now);
    } else if (const auto* listen = std::get_if<lock::Listen>(&effect)) {
      servers_.listen(listen->attempt, now);
    } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
      servers_.log(*line, diag::word_for(line->event), to_json(diag::log_entry(*line, won_.who)),
                   now);
    }
  }
}

void Keeper::take_signals(lock::Instant now) {
  for (const os::ReceivedSignal& signal : signals_.take()) {
    if (signal.number == SIGCHLD || !os::ends_process_by_default(signal.number)) continue;
    // A ward that has just ended comes first: what is left to do then takes two seconds at most.
    ward_gone_ = ward_gone_ || ward_.process.gone();
    const lock::Event event = ward_gone_ ? lock::Event(lock::JobExited{0})
                                         : lock::Event(lock::Signal{signal.number, true});
    perform(custody_.step(event, now), now);
  }
}

void Keeper::tell_ward() {
  if (std::exchange(told_, true) || ward_.lost_signal == 0) return;
  ward_.process.signal(ward_.lost_signal);
}

}  // namespace redlock::hold
