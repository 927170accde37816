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
#include "redis/subscribers.h"

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
      ward_(ward),
      parent_(std::move(parent)),
      won_(std::move(won)),
      keeping_(session, servers.size(), won_.line),
      driver_(keeping_, *this, servers, signals, {.who = &won_.who}, std::move(loop)) {}

void Keeper::keep(lock::Duration patience, driver::Rescue& rescue) {
  std::optional<Parent> parent;
  try {
    os::detach();
    listen(os::boot_now() + patience);
    const auto running = static_cast<char>(KeeperWord::running);
    if (::write(parent_.get(), &running, 1) != 1) ::_exit(0);
    parent = await_word();
    if (parent == Parent::says_end) ::_exit(0);
    const lock::Instant now = driver_.now();
    driver_.step(lock::JobStarted{}, now);
    if (parent == Parent::gone) driver_.step(lock::JobExited{0}, now);
    driver_.run();
  } catch (const std::exception&) {
    // The machine fails under us. A parent that waits for word sees our death, and gives the lock
    // back. A token that is known must not be released while the ward lives, who is told.
    if (parent == Parent::gone) rescue.give_back(driver_, patience);
    if (parent == Parent::says_go) tell_ward();
  }
  ::_exit(0);
}

/// The connections for votes are left alone: the parent may need them yet.
void Keeper::listen(lock::Instant limit) {
  servers_.subscribe(won_.line.attempt, os::boot_now());
  redis::Subscribers& subscribers = servers_.subscribers();
  std::vector<os::Interest> interests;
  while (!subscribers.settled() && os::boot_now() < limit) {
    interests.clear();
    subscribers.interests(interests);
    driver_.await(interests, std::min(limit, subscribers.deadline()));
    subscribers.turn(os::boot_now());
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

/// Once it is dead it would always be ready.
os::Interest Keeper::watch() const {
  return {.fd = ward_gone_ ? -1 : ward_.process.fd(), .read = true};
}

/// A ward that has just ended comes first: what is left to do then takes two seconds at most.
bool Keeper::take_signal(const lock::Signal& signal, lock::Instant now) {
  if (signal.ends_waiting) look(true, now);
  return false;
}

void Keeper::look(bool woken, lock::Instant now) {
  if (!woken || ward_gone_ || !ward_.process.gone()) return;
  ward_gone_ = true;
  driver_.step(lock::JobExited{0}, now);
}

void Keeper::turned(lock::Instant) {
  if (keeping_.warns()) tell_ward();
}

void Keeper::tell_ward() {
  if (std::exchange(told_, true) || ward_.lost_signal == 0) return;
  ward_.process.signal(ward_.lost_signal);
}

}  // namespace redlock::hold
